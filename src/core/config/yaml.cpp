#include "skyline/core/error.hpp"

#include "core/config/config_text.hpp"

#include <cstddef>
#include <set>
#include <sstream>
#include <utility>
#include <vector>

#include <yaml-cpp/yaml.h>

namespace skyline {
namespace {

constexpr int kDeepestNesting = 100;

/// Aliases of aliases make an enormous tree of a short text.
constexpr std::size_t kMostNodes = 1'000'000;

/// Turns the nodes of one file into ours.
class Converter {
 public:
  explicit Converter(const std::string& file) : file_(file) {}

  [[noreturn]] void fail_at(const YAML::Node& node, const std::string& problem) const {
    fail(position_of(node), problem);
  }

  ConfigNode convert(const YAML::Node& node, int depth) {
    const SourcePosition where = position_of(node);
    if (depth > kDeepestNesting) fail(where, "nested more than 100 levels deep");
    if (++nodes_ > kMostNodes)
      fail(where, "more than 1,000,000 values, counted where aliases (*name) repeat them");
    switch (node.Type()) {
      case YAML::NodeType::Scalar:
        return ConfigNode::make_scalar(node.Scalar(), where, node.Tag() == "!");
      case YAML::NodeType::Sequence: {
        std::vector<ConfigNode> items;
        for (const YAML::Node& item : node) items.push_back(convert(item, depth + 1));
        return ConfigNode::make_list(std::move(items), where);
      }
      case YAML::NodeType::Map:
        return convert_map(node, depth);
      case YAML::NodeType::Null:
      case YAML::NodeType::Undefined:
        break;
    }
    return ConfigNode::make_null(where);
  }

 private:
  SourcePosition position_of(const YAML::Node& node) const {
    const YAML::Mark mark = node.Mark();
    return mark.is_null() ? SourcePosition{file_, 0, 0}
                          : SourcePosition{file_, mark.line + 1, mark.column + 1};
  }

  [[noreturn]] void fail(const SourcePosition& where, const std::string& problem) const {
    throw UserError(file_ + ":" + std::to_string(where.line) + ": " + problem);
  }

  /// Adds the entries of a merge key's value, a map or a list of maps: `<<: *common`.
  void append_merged(const ConfigNode& value, const SourcePosition& where,
                     std::vector<ConfigNode::Entry>& merged) const {
    if (value.is_list()) {
      for (const ConfigNode& item : value.items()) append_merged(item, where, merged);
    } else if (value.is_map()) {
      merged.insert(merged.end(), value.entries().begin(), value.entries().end());
    } else {
      fail(where, "expected a map, or a list of maps, to merge (<<)");
    }
  }

  ConfigNode convert_map(const YAML::Node& node, int depth) {
    std::vector<ConfigNode::Entry> entries;
    std::vector<ConfigNode::Entry> merged;
    std::set<std::string> seen;
    for (const auto& item : node) {
      const SourcePosition where = position_of(item.first);
      if (!item.first.IsScalar()) fail(where, "expected a word as key");
      const std::string key = item.first.Scalar();
      if (!seen.insert(key).second) fail(where, "key `" + key + "` stands here a second time");
      ConfigNode value = convert(item.second, depth + 1);
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

  const std::string& file_;
  std::size_t nodes_ = 0;
};

/// The first line that is indented by a tab; 0 if there is none.
std::size_t line_with_tab(const std::string& text) {
  std::istringstream lines(text);
  std::string line;
  for (std::size_t number = 1; std::getline(lines, line); ++number) {
    const std::size_t content = line.find_first_not_of(" \t");
    if (line.substr(0, content).find('\t') != std::string::npos && content != std::string::npos)
      return number;
  }
  return 0;
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
      for (const ConfigNode& item : node.items()) plain = plain && item.is_scalar();
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

}  // namespace

ConfigNode load_yaml_text(const std::string& text, const std::string& file) {
  try {
    const std::vector<YAML::Node> documents = YAML::LoadAll(text);
    Converter converter(file);
    if (documents.size() > 1) converter.fail_at(documents[1], "a second document begins here: expected one");
    ConfigNode root = converter.convert(documents.empty() ? YAML::Node() : documents[0], 0);
    root.assign_paths();
    return root;
  } catch (const YAML::Exception& error) {
    const std::size_t tab = line_with_tab(text);
    if (tab > 0)
      throw UserError(file + ":" + std::to_string(tab) + ": a tab at the start of a line: indent by blanks");
    const int line = error.mark.is_null() ? 0 : error.mark.line + 1;
    throw UserError(file + ":" + std::to_string(line) + ": not valid YAML: " + error.msg);
  }
}

void apply_override(ConfigNode& root, const std::string& assignment) {
  const std::size_t equals = assignment.find('=');
  if (equals == std::string::npos || equals == 0) {
    throw UserError("--set " + assignment + ": expected key=value, e.g. search.iterations=3");
  }
  const std::string key = assignment.substr(0, equals);
  root.set(key, load_yaml_text(assignment.substr(equals + 1), "--set " + key));
  root.assign_paths();
}

std::string to_yaml(const ConfigNode& root) {
  YAML::Emitter out;
  emit(out, root);
  return std::string(out.c_str()) + "\n";
}

}  // namespace skyline
