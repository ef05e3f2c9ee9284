#pragma once

#include "skyline/core/option_kind.hpp"

#include <cstdint>
#include <optional>
#include <string_view>

namespace skyline {

/// Reads a number that may have a prefix: `64k`, `1.5M`, `2G`, of thousands. Bytes may have a unit, of
/// thousands or of 1024: `64 kB`, `60 GiB`, `64Ki`.
std::optional<double> amount_in(std::string_view text, bool of_bytes);
/// Reads the amount in a node, which is not quoted. @throws UserError with its place
double amount_of(const ConfigNode& node, bool of_bytes);
/// Returns the JSON schema of an amount: a number, or a text that amount_in() may read.
ConfigNode amount_schema();

/// Reads an amount of bytes that has a prefix or a unit, and writes it with a unit.
OptionKind<std::uint64_t> byte_size();

}  // namespace skyline
