#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace skyline::evaluate {

/// An IPv4 address as a number.
using Ipv4 = std::uint32_t;
std::string dotted(Ipv4 address);
constexpr Ipv4 kLoopback = 0x7F000001;

/// An address of this host, with the name of its network interface, e.g. `eth0`.
struct HostInterface {
  std::string name;
  Ipv4 address = 0;
};

/// Chooses the address by which other hosts reach this one: of the first interface that a list names, else of
/// the first one that neither leads to this host alone nor to its containers, as far as there is one.
/// @param up       the interfaces that are up, in the system's order
/// @param include  Open MPI's btl_tcp_if_include: names and subnets (`10.1.0.0/16`) with commas; may be empty
/// @param exclude  btl_tcp_if_exclude, the same of interfaces that are not used; `include` wins over it
/// @return         nullopt if no interface leads to another host
std::optional<Ipv4> chosen_address(const std::vector<HostInterface>& up, const std::string& include,
                                   const std::string& exclude);

/// Returns the address that chosen_address() finds for this host, with what MPI was told.
std::optional<Ipv4> address_of_host();

}  // namespace skyline::evaluate
