#include "core/config/config_text.hpp"

#include "skyline/core/error.hpp"

#include "core/text/foreign_text.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <limits>
#include <set>
#include <sstream>
#include <utility>
#include <vector>

#include <yaml-cpp/yaml.h>

namespace skyline {
namespace {

constexpr int kDeepestNesting = 100;

/// Bounds the number of nodes: a short text with aliases of aliases can describe an enormous tree.
constexpr std::size_t kMostNodes = 1'000'000;
constexpr std::size_t kMostText = 4U << 20U;  // bytes of keys and values
constexpr std::size_t kLongestKey = 1'000;    // bytes
/// Bounds the bytes of all dotted paths: every value keeps its path, which adds up below long keys.
constexpr std::size_t kMostPaths = 64U << 20U;  // bytes

/// The source of a text: a file, or an argument, which is too short for lines and columns to matter.
struct TextSource {
  std::string name;
  bool has_lines = true;

  SourcePosition position(const YAML::Mark& mark) const {
    if (mark.is_null() || !has_lines) return {name, 0, 0};
    return {name, mark.line + 1, mark.column + 1};
  }
};

/// Turns the nodes of one file into ConfigNodes.
class Converter {
 public:
  explicit Converter(const TextSource& source) : source_(source) {}

  [[noreturn]] void fail_at(const YAML::Node& node, const std::string& problem) const {
    fail(position_of(node), problem);
  }

  ConfigNode convert(const YAML::Node& node, int depth, std::size_t path = 0) {
    const SourcePosition where = position_of(node);
    if (depth > kDeepestNesting) fail(where, "nested more than 100 levels deep");
    if (++nodes_ > kMostNodes)
      fail(where, "more than 1,000,000 values, counted where aliases (*name) repeat them");
    if ((paths_ += path) > kMostPaths) fail(where, "too many values stand below long keys");
    switch (node.Type()) {
      case YAML::NodeType::Scalar:
        count_text(node.Scalar(), where);
        return ConfigNode::make_scalar(node.Scalar(), where, node.Tag() == "!");
      case YAML::NodeType::Sequence: {
        std::vector<ConfigNode> items;
        for (const YAML::Node& item : node) items.push_back(convert(item, depth + 1, path + kLongestIndex));
        return ConfigNode::make_list(std::move(items), where);
      }
      case YAML::NodeType::Map:
        return convert_map(node, depth, path);
      case YAML::NodeType::Null:
      case YAML::NodeType::Undefined:
        break;
    }
    return ConfigNode::make_null(where);
  }

 private:
  SourcePosition position_of(const YAML::Node& node) const { return source_.position(node.Mark()); }

  [[noreturn]] static void fail(const SourcePosition& where, const std::string& problem) {
    throw UserError(location(where) + problem);
  }

  void count_text(const std::string& text, const SourcePosition& where) {
    text_ += text.size();
    if (text_ > kMostText) fail(where, "more than 4 MiB of text, counted where aliases (*name) repeat it");
  }

  /// Adds the entries of a merge key's value, a map or a list of maps: `<<: *common`.
  static void append_merged(const ConfigNode& value, const SourcePosition& where,
                            std::vector<ConfigNode::Entry>& merged) {
    if (value.is_list()) {
      for (const ConfigNode& item : value.items()) append_merged(item, where, merged);
    } else if (value.is_map()) {
      merged.insert(merged.end(), value.entries().begin(), value.entries().end());
    } else {
      fail(where, "expected a map, or a list of maps, to merge (<<)");
    }
  }

  ConfigNode convert_map(const YAML::Node& node, int depth, std::size_t path) {
    std::vector<ConfigNode::Entry> entries;
    std::vector<ConfigNode::Entry> merged;
    std::set<std::string> seen;
    for (const auto& item : node) {
      const SourcePosition where = position_of(item.first);
      if (!item.first.IsScalar()) fail(where, "expected a word as key");
      const std::string key = item.first.Scalar();
      count_text(key, where);
      if (key.size() > kLongestKey) fail(where, "expected a key of at most 1,000 letters");
      if (!seen.insert(key).second) fail(where, "key " + in_quotes(key) + " is given a second time");
      ConfigNode value = convert(item.second, depth + 1, path + 1 + key.size());
      if (key == "<<" && item.first.Tag() != "!") {
        append_merged(value, where, merged);
      } else {
        entries.push_back({key, std::move(value), where});
      }
    }
    for (ConfigNode::Entry& entry : merged) {
      if (seen.insert(entry.key).second) entries.push_back(std::move(entry));
    }
    return ConfigNode::make_map(std::move(entries), position_of(node));
  }

  static constexpr std::size_t kLongestIndex = std::string_view("[999999]").size();
  const TextSource& source_;
  std::size_t nodes_ = 0;
  std::size_t text_ = 0;
  std::size_t paths_ = 0;
};

/// Returns the place of the first line that is indented by a tab.
std::optional<YAML::Mark> indenting_tab(const std::string& text) {
  std::istringstream lines(text);
  std::string line;
  for (YAML::Mark mark; std::getline(lines, line); ++mark.line) {
    const std::size_t content = line.find_first_not_of(" \t");
    const std::size_t tab = line.find('\t');
    if (content == std::string::npos || tab >= content) continue;
    mark.column = static_cast<int>(tab);
    return mark;
  }
  return std::nullopt;
}

/// Returns what the parser says, in the words of somebody who writes a list or a map in brackets.
std::string said_of(const YAML::Exception& error) {
  const bool is_list = error.msg == YAML::ErrorMsg::END_OF_SEQ_FLOW;
  if (!is_list && error.msg != YAML::ErrorMsg::END_OF_MAP_FLOW) return error.msg;
  return std::string(is_list ? "a list lacks its `]`" : "a map lacks its `}`") +
         ", or a text with brackets, such as \"{trial}.pt\", its quotes";
}

ConfigNode load(const std::string& text, const TextSource& source) {
  try {
    const std::vector<YAML::Node> documents = YAML::LoadAll(text);
    Converter converter(source);
    if (documents.size() > 1) converter.fail_at(documents[1], "a second document begins here: expected one");
    ConfigNode root = converter.convert(documents.empty() ? YAML::Node() : documents[0], 0);
    root.assign_paths();
    return root;
  } catch (const YAML::Exception& error) {
    const auto tab = indenting_tab(text);
    throw UserError(tab ? location(source.position(*tab)) + "a tab at the start of a line: indent by blanks"
                        : location(source.position(error.mark)) + "not valid YAML: " + said_of(error));
  }
}

void emit(YAML::Emitter& out, const ConfigNode& node) {
  switch (node.kind()) {
    case ConfigNode::Kind::kNull:
      out << YAML::Null;
      return;
    case ConfigNode::Kind::kScalar:
      if (node.quoted()) out << YAML::DoubleQuoted;
      out << node.as_text();
      return;
    case ConfigNode::Kind::kList: {
      bool plain = true;
      for (const ConfigNode& item : node.items()) plain = plain && (item.is_scalar() || item.is_null());
      out << (plain ? YAML::Flow : YAML::Block) << YAML::BeginSeq;
      for (const ConfigNode& item : node.items()) emit(out, item);
      out << YAML::EndSeq;
      return;
    }
    case ConfigNode::Kind::kMap:
      out << (node.entries().empty() ? YAML::Flow : YAML::Block) << YAML::BeginMap;
      for (const ConfigNode::Entry& entry : node.entries()) {
        out << YAML::Key << entry.key << YAML::Value;
        emit(out, entry.value);
      }
      out << YAML::EndMap;
      return;
  }
}

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

template <typename Number>
std::optional<Number> parsed(std::string_view text) {
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);  // from_chars takes no plus
  Number value{};
  const char* end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, value);
  if (result.ec != std::errc() || result.ptr != end) return std::nullopt;
  return value;
}

struct TimeUnit {
  std::string_view name;
  double seconds;
};
constexpr std::array kTimeUnits{TimeUnit{"d", 86400}, TimeUnit{"h", 3600}, TimeUnit{"min", 60},
                                TimeUnit{"m", 60},    TimeUnit{"s", 1},    TimeUnit{"ms", 1e-3}};

/// Cuts the longest prefix of these characters, and the blanks after it, off the text.
std::string_view consume_while(std::string_view& text, std::string_view characters) {
  const std::size_t length = std::min(text.find_first_not_of(characters), text.size());
  const std::string_view consumed = text.substr(0, length);
  text.remove_prefix(length);
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  return consumed;
}

}  // namespace

ConfigNode load_yaml_text(const std::string& text, const std::string& file) {
  return load(text, {file, true});
}

void apply_override(ConfigNode& root, const std::string& assignment) {
  const std::size_t equals = assignment.find('=');
  if (equals == std::string::npos || equals == 0) {
    throw UserError("--set " + shortened(assignment) + ": expected key=value, e.g. search.iterations=3");
  }
  const std::string key = assignment.substr(0, equals);
  if (key.size() > kLongestKey) throw UserError("--set: expected a key of at most 1,000 letters");
  root.set(key, load(assignment.substr(equals + 1), {"--set " + key, false}));
  root.assign_paths();
}

std::string to_yaml(const ConfigNode& root) {
  YAML::Emitter out;
  emit(out, root);
  return std::string(out.c_str()) + "\n";
}

std::string to_json(const ConfigNode& node) {
  return json_of(node, "") + "\n";
}

std::optional<std::int64_t> parse_integer(std::string_view text) {
  return parsed<std::int64_t>(text);
}

std::optional<double> parse_number(std::string_view text) {
  if (text == ".inf" || text == "+.inf") return std::numeric_limits<double>::infinity();
  if (text == "-.inf") return -std::numeric_limits<double>::infinity();
  // from_chars would also take the words inf and nan, which YAML reads as text.
  if (text.find_first_not_of("+-.0123456789eE") != std::string_view::npos) return std::nullopt;
  return parsed<double>(text);
}

std::optional<bool> parse_bool(std::string_view text) {
  if (text == "true" || text == "True") return true;
  if (text == "false" || text == "False") return false;
  return std::nullopt;
}

std::optional<double> parse_duration(std::string_view text) {
  if (parse_number(text) == 0) return 0;  // zero needs no unit
  double total = 0;
  double last_unit = std::numeric_limits<double>::infinity();
  if (text.empty()) return std::nullopt;
  while (!text.empty()) {
    const auto count = parsed<double>(consume_while(text, "0123456789.eE+-"));
    const std::string_view name = consume_while(text, "dhmins");
    const auto unit = std::ranges::find(kTimeUnits, name, &TimeUnit::name);
    if (!count || *count < 0 || unit == kTimeUnits.end() || unit->seconds >= last_unit) return std::nullopt;
    total += *count * unit->seconds;
    last_unit = unit->seconds;
  }
  return std::isfinite(total) ? std::optional(total) : std::nullopt;
}

}  // namespace skyline
