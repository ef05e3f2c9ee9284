#pragma once

#include "skyline/core/config_node.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace skyline {

// Configurations as text. Scalars: each function reads a whole unquoted one without surrounding blanks;
// nothing if it is not of the type.
std::optional<std::int64_t> integer_in(std::string_view text);
/// Reads a finite number, or YAML's `.inf` and `-.inf`.
std::optional<double> number_in(std::string_view text);
std::optional<bool> flag_in(std::string_view text);
/// Reads seconds: a number alone, or numbers with units (s, m or min, h, d), the largest unit first: `90`,
/// `15 min`, `1h30m`. At least 0, finite.
std::optional<double> duration_in(std::string_view text);

/// The beginning of a message about this place: `a.yaml:3:12: `, as compilers print it, without what is
/// unknown.
std::string location(const SourcePosition& position);

/// A key of this map as a scalar that has the map's path: the place of a mistake in the key itself.
ConfigNode key_node(const ConfigNode& map, const ConfigNode::Entry& entry);

/// Reads YAML text. Duplicate keys are refused (yaml-cpp would keep the first silently).
/// @param file  the name that error messages give
/// @throws UserError with file, line and column for a text that is not YAML
ConfigNode load_yaml_text(const std::string& text, const std::string& file);

/// Applies one `--set key.path=value`; the value is YAML. Paths are assigned anew. The place of the value in
/// messages is `--set key.path`.
/// @throws UserError for a missing `=`, an empty key or a value that is not YAML
void apply_override(ConfigNode& root, const std::string& assignment);

/// Writes a tree as YAML text, the same for equal trees; it reads back to an equal tree.
std::string to_yaml(const ConfigNode& root);

/// Writes a tree as JSON, indented. A scalar that is not quoted and reads as a number or a flag is one in
/// JSON too.
std::string to_json(const ConfigNode& node);

}  // namespace skyline
