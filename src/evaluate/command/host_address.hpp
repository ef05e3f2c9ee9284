#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace skyline::evaluate {

/// An IPv4 address as a number.
using Ipv4 = std::uint32_t;
std::string dotted(Ipv4 address);
constexpr Ipv4 kLoopback = 0x7F000001;

/// Returns an address by which other hosts reach this one: that of the interface that MPI was told to use,
/// else of the first one that is up; nullopt if there is none.
std::optional<Ipv4> address_of_host();

}  // namespace skyline::evaluate
