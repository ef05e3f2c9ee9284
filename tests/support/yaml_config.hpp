#pragma once

#include "skyline/core/config_node.hpp"

#include <string>
#include <utility>
#include <vector>

#include <yaml-cpp/yaml.h>

namespace skyline::testing {

/// Reads YAML text into a configuration tree with positions, as the application does for files.
/// `path` is the dotted path of the root, for tests that load one section alone ("space").
inline ConfigNode config_from_yaml(const std::string& text, const std::string& file = "test.yaml",
                                   const std::string& path = {}) {
  struct Converter {
    std::string file;

    SourcePosition position(const YAML::Node& node) const {
      return {file, node.Mark().line + 1, node.Mark().column + 1};
    }
    ConfigNode convert(const YAML::Node& node) const {
      if (node.IsScalar()) return ConfigNode::make_scalar(node.Scalar(), position(node), node.Tag() == "!");
      if (node.IsSequence()) {
        std::vector<ConfigNode> items;
        for (const YAML::Node& item : node) items.push_back(convert(item));
        return ConfigNode::make_list(std::move(items), position(node));
      }
      if (node.IsMap()) {
        std::vector<ConfigNode::Entry> entries;
        for (const auto& entry : node) {
          entries.push_back({entry.first.Scalar(), convert(entry.second), position(entry.first)});
        }
        return ConfigNode::make_map(std::move(entries), position(node));
      }
      return ConfigNode::make_null(position(node));
    }
  };
  ConfigNode root = Converter{file}.convert(YAML::Load(text));
  root.assign_paths(path);
  return root;
}

}  // namespace skyline::testing
