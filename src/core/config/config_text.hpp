#pragma once

#include "skyline/core/config_node.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace skyline {

// Configurations as text. Each function for scalars reads a whole unquoted scalar without surrounding blanks,
// and returns nullopt if the text has another type.
std::optional<std::int64_t> parse_integer(std::string_view text);
/// Reads a finite number, or YAML's `.inf` and `-.inf`.
std::optional<double> parse_number(std::string_view text);
std::optional<bool> parse_bool(std::string_view text);
/// Reads seconds, finite and at least 0: only a number, or numbers with units (s, m or min, h, d), the
/// largest unit first: `90`, `15 min`, `1h30m`.
std::optional<double> parse_duration(std::string_view text);

/// Returns the beginning of a message about this place as compilers print it, without unknown parts:
/// `a.yaml:3:12: `.
std::string location(const SourcePosition& position);

/// Returns a key of this map as a scalar with the path of the map, for messages about the key itself.
ConfigNode key_node(const ConfigNode& map, const ConfigNode::Entry& entry);

/// Reads YAML text. Duplicate keys are refused (yaml-cpp would keep the first silently).
/// @param file  the name that error messages give
/// @throws UserError with file, line and column for a text that is not YAML
ConfigNode load_yaml_text(const std::string& text, const std::string& file);

/// Applies one `--set key.path=value`; the value is YAML. All paths are assigned again. Messages about the
/// value name its place as `--set key.path`.
/// @throws UserError for a missing `=`, an empty key or a value that is not YAML
void apply_override(ConfigNode& root, const std::string& assignment);

/// Writes a tree as YAML. Equal trees give the same text, and it reads back to an equal tree.
std::string to_yaml(const ConfigNode& root);

/// Writes a tree as indented JSON. An unquoted scalar that reads as a number or a flag is one in JSON too.
std::string to_json(const ConfigNode& node);

}  // namespace skyline
