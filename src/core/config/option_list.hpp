#pragma once

#include "skyline/core/option_kind.hpp"

#include <string>
#include <vector>

namespace skyline {

/// Reads a list of values. An empty list means that the key is not given.
template <typename M>
OptionKind<std::vector<M>> list_of(const OptionKind<M>& item, const std::string& expected) {
  ConfigNode schema = ConfigNode::make_map({{"type", ConfigNode::make_scalar("array", {}, true), {}}}, {});
  schema.set("items", item.schema);
  OptionKind<std::vector<M>> kind{{expected, schema, item.sections}};
  kind.read = [item](const ConfigNode& node, std::vector<M>& values) {
    values.clear();
    if (!node.is_list() || node.items().empty()) return false;
    for (const ConfigNode& one : node.items()) {
      if (!item.read(one, values.emplace_back())) one.fail_expected(item.expected);
    }
    return true;
  };
  kind.write = [write = item.write](const std::vector<M>& values) {
    if (values.empty()) return ConfigNode();
    std::vector<ConfigNode> items;
    for (const M& value : values) items.push_back(write(value));
    return ConfigNode::make_list(std::move(items), {});
  };
  return kind;
}

}  // namespace skyline
