#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace skyline::space {

/// One value for every parameter of the space: choices[p] indexes the values of parameter p, in declaration
/// order.
struct Genotype {
  std::vector<std::uint32_t> choices;
  bool operator==(const Genotype&) const = default;
};

/// Stable hash of an architecture's canonical text: equal networks have equal ids, on every machine and in
/// every version.
enum class ArchId : std::uint64_t {};

/// The id as 16 hex digits.
std::string to_text(ArchId id);
/// @throws UserError unless `text` is 16 hex digits
ArchId parse_arch_id(const std::string& text);

}  // namespace skyline::space
