#pragma once

#include "skyline/core/config_node.hpp"

namespace skyline {

// Configurations in records (core/record.hpp), with all places in the user's files.

template <typename Visitor>
void for_each_field(SourcePosition& position, Visitor& visit) {
  visit(position.file, position.line, position.column);
}

template <typename Visitor>
void for_each_field(ConfigNode::Entry& entry, Visitor& visit) {
  visit(entry.key, entry.value, entry.key_position);
}

template <typename Visitor>
void for_each_field(ConfigNode& node, Visitor& visit) {
  node.visit_fields(visit);
}

}  // namespace skyline
