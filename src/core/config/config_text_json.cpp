#include "core/config/config_text.hpp"

#include <array>
#include <cmath>
#include <cstdio>

namespace skyline {
namespace {

std::string quoted(const std::string& text) {
  std::string json = "\"";
  for (const char letter : text) {
    if (letter == '"' || letter == '\\') json += '\\';
    if (static_cast<unsigned char>(letter) >= 0x20) {
      json += letter;
      continue;
    }
    std::array<char, 8> escape{};
    std::snprintf(escape.data(), escape.size(), "\\u%04x", static_cast<unsigned>(letter));
    json += escape.data();
  }
  return json + '"';
}

std::string scalar(const ConfigNode& node) {
  const std::string& text = node.as_text();
  if (node.quoted()) return quoted(text);
  if (const auto number = parse_number(text)) {
    if (const auto integer = parse_integer(text)) return std::to_string(*integer);
    return std::isfinite(*number) ? ConfigNode::make_number(*number).as_text() : quoted(text);
  }
  if (const auto flag = parse_bool(text)) return *flag ? "true" : "false";
  return quoted(text);
}

std::string json_of(const ConfigNode& node, const std::string& indent) {
  if (node.is_null()) return "null";
  if (node.is_scalar()) return scalar(node);
  const std::string inner = indent + "  ";
  std::string json;
  if (node.is_list()) {
    for (const ConfigNode& item : node.items()) {
      json += (json.empty() ? "\n" : ",\n") + inner + json_of(item, inner);
    }
    return json.empty() ? "[]" : "[" + json + "\n" + indent + "]";
  }
  for (const ConfigNode::Entry& entry : node.entries()) {
    json += (json.empty() ? "\n" : ",\n") + inner + quoted(entry.key) + ": " + json_of(entry.value, inner);
  }
  return json.empty() ? "{}" : "{" + json + "\n" + indent + "}";
}

}  // namespace

std::string to_json(const ConfigNode& node) {
  return json_of(node, "") + "\n";
}

}  // namespace skyline
