// Operations on whole trees: paths, replacement, comparison.
#include "skyline/core/config_node.hpp"

#include "core/config/config_text.hpp"

#include <algorithm>

namespace skyline {
namespace {

std::string child_path(const std::string& parent, const std::string& key) {
  return parent.empty() ? key : parent + '.' + key;
}

std::string item_path(const std::string& parent, std::size_t index) {
  return parent + '[' + std::to_string(index) + ']';
}

bool equal_scalars(const ConfigNode& left, const ConfigNode& right) {
  if (left.as_text() == right.as_text()) return true;
  if (left.quoted() || right.quoted()) return false;
  const auto left_integer = integer_in(left.as_text());
  const auto right_integer = integer_in(right.as_text());
  if (left_integer && right_integer) return *left_integer == *right_integer;
  const auto left_number = number_in(left.as_text());
  const auto right_number = number_in(right.as_text());
  return left_number && right_number && *left_number == *right_number;
}

// The path of the first difference at or below this place; `differs` says whether there is one, as the root's
// own path is empty.
struct Difference {
  bool differs = false;
  std::string path;
};

Difference compare(const ConfigNode& left, const ConfigNode& right, const std::string& path);

Difference compare_lists(const ConfigNode& left, const ConfigNode& right, const std::string& path) {
  if (left.items().size() != right.items().size()) return {true, path};
  for (std::size_t i = 0; i < left.items().size(); ++i) {
    Difference found = compare(left.items()[i], right.items()[i], item_path(path, i));
    if (found.differs) return found;
  }
  return {};
}

// Compares maps without regard to the order of keys, as in YAML.
Difference compare_maps(const ConfigNode& left, const ConfigNode& right, const std::string& path) {
  for (const ConfigNode::Entry& entry : left.entries()) {
    const ConfigNode* other = right.find(entry.key);
    if (other == nullptr) return {true, child_path(path, entry.key)};
    Difference found = compare(entry.value, *other, child_path(path, entry.key));
    if (found.differs) return found;
  }
  for (const ConfigNode::Entry& entry : right.entries()) {
    if (left.find(entry.key) == nullptr) return {true, child_path(path, entry.key)};
  }
  return {};
}

Difference compare(const ConfigNode& left, const ConfigNode& right, const std::string& path) {
  if (left.kind() != right.kind()) return {true, path};
  if (left.is_list()) return compare_lists(left, right, path);
  if (left.is_map()) return compare_maps(left, right, path);
  if (left.is_scalar() && !equal_scalars(left, right)) return {true, path};
  return {};
}

}  // namespace

void ConfigNode::assign_paths(const std::string& own_path) {
  path_ = own_path;
  for (std::size_t i = 0; i < items_.size(); ++i) items_[i].assign_paths(item_path(path_, i));
  for (Entry& entry : entries_) entry.value.assign_paths(child_path(path_, entry.key));
}

void ConfigNode::set(std::string_view dotted_path, ConfigNode value) {
  if (is_null()) kind_ = Kind::kMap;
  if (!is_map()) fail_expected("a map on the way to `" + std::string(dotted_path) + "`");
  const std::size_t dot = dotted_path.find('.');
  const std::string key(dotted_path.substr(0, dot));
  auto entry = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& e) { return e.key == key; });
  if (entry == entries_.end()) {
    entries_.push_back({key, make_null(value.position()), value.position()});
    entry = entries_.end() - 1;
  }
  if (dot == std::string_view::npos) {
    entry->value = std::move(value);
  } else {
    entry->value.set(dotted_path.substr(dot + 1), std::move(value));
  }
}

std::string first_difference(const ConfigNode& left, const ConfigNode& right) {
  return compare(left, right, {}).path;
}

}  // namespace skyline
