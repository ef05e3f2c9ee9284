#pragma once

#include "skyline/core/config_node.hpp"

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace skyline::space {

/// A value per parameter, in declaration order: choices[p] indexes the values of parameter p.
struct Genotype {
  std::vector<std::uint32_t> choices;
  bool operator==(const Genotype&) const = default;
};

/// Stable hash of a network's canonical text and of the training values, if the genotype gives any.
/// Architectures built and trained in the same way have equal ids, on every machine and in every version.
enum class ArchId : std::uint64_t {};

/// Returns the id as 16 hex digits.
std::string to_text(ArchId id);

/// No value, which a parameter may have, too: null in YAML and JSON, None in Python, an empty cell in CSV.
struct Null {
  auto operator<=>(const Null&) const = default;
};
/// Two whole numbers, a height and a width: `[10, 4]`.
using Sides = std::array<std::int64_t, 2>;
/// A value of a parameter or of a layer's attribute.
using Value = std::variant<std::int64_t, double, std::string, bool, Null, Sides>;

/// Returns the shortest text that reads back to the same value; integers have no point.
std::string to_text(const Value& value);

/// Reads a scalar as an integer, else a number, else a flag (true/false), else text, and a list as sides.
/// Quoted scalars are text.
/// @throws UserError for a whole number that has more than 64 bits, and for a list that is not two whole
///         numbers
Value read_value(const ConfigNode& node);

/// Reads the text of sides, with any blanks; nullopt if it is another text.
std::optional<Sides> parse_sides(std::string_view text);
/// Returns the sides as a value: one number if both are equal, so that layers which differ only in spelling
/// are equal.
Value as_value(const Sides& sides);

/// Returns the value as a number. @throws UserError for a text, for sides and for null
double as_number(const Value& value);

}  // namespace skyline::space
