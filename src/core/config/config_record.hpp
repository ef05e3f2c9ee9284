#pragma once

#include "skyline/core/config_node.hpp"

namespace skyline {

// Configurations in records (core/record.hpp), with all places in the user's files. Paths do not travel: call
// assign_paths on the root that was read.

template <typename Visitor>
void for_each_field(SourcePosition& position, Visitor& visit) {
  visit(position.file, position.line, position.column);
}

template <typename Visitor>
void for_each_field(ConfigNode::Entry& entry, Visitor& visit) {
  visit(entry.key, entry.value, entry.key_position.line, entry.key_position.column);
  if (entry.key_position.file.empty()) entry.key_position.file = entry.value.position().file;
}

template <typename Visitor>
void for_each_field(ConfigNode& node, Visitor& visit) {
  visit(node.kind_, node.quoted_, node.position_, node.text_, node.items_, node.entries_);
}

}  // namespace skyline
