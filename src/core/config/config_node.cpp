#include "skyline/core/config_node.hpp"

#include "skyline/core/error.hpp"

#include "core/config/config_text.hpp"
#include "core/config/foreign_words.hpp"
#include "core/text/foreign_text.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

namespace skyline {
namespace {

constexpr std::size_t kLongestPathShown = 200;  // bytes, in messages

std::string child_path(const std::string& parent, const std::string& key) {
  return parent.empty() ? key : parent + '.' + key;
}

std::string item_path(const std::string& parent, std::size_t index) {
  return parent + '[' + std::to_string(index) + ']';
}

/// Returns what a value of another tool is called here, as the end of a message; "" if the value is none.
std::string answer_to_value(const ConfigNode& node) {
  if (!node.is_scalar()) return "";
  const std::string& path = node.path();
  const std::string key = path.substr(path.rfind('.') + 1);  // the whole path if there is no dot
  const std::string answer = foreign_answer(node.as_text(), {path + ":", key + ":"});
  return answer.empty() ? "" : ", " + answer;
}

bool equal_scalars(const ConfigNode& left, const ConfigNode& right) {
  if (left.as_text() == right.as_text()) return true;
  if (left.quoted() || right.quoted()) return false;
  const auto left_integer = parse_integer(left.as_text());
  const auto right_integer = parse_integer(right.as_text());
  if (left_integer && right_integer) return *left_integer == *right_integer;
  const auto left_number = parse_number(left.as_text());
  const auto right_number = parse_number(right.as_text());
  return left_number && right_number && *left_number == *right_number;
}

/// Returns the path of the first difference at or below this place, or nullopt if there is none.
std::optional<std::string> compare(const ConfigNode& left, const ConfigNode& right, const std::string& path);

std::optional<std::string> compare_lists(const ConfigNode& left, const ConfigNode& right,
                                         const std::string& path) {
  if (left.items().size() != right.items().size()) return path;
  for (std::size_t i = 0; i < left.items().size(); ++i) {
    if (auto found = compare(left.items()[i], right.items()[i], item_path(path, i))) return found;
  }
  return std::nullopt;
}

/// Compares two maps; the order of keys does not count, as in YAML.
std::optional<std::string> compare_maps(const ConfigNode& left, const ConfigNode& right,
                                        const std::string& path) {
  for (const ConfigNode::Entry& entry : left.entries()) {
    const ConfigNode* other = right.find(entry.key);
    if (other == nullptr) return child_path(path, entry.key);
    if (auto found = compare(entry.value, *other, child_path(path, entry.key))) return found;
  }
  for (const ConfigNode::Entry& entry : right.entries()) {
    if (left.find(entry.key) == nullptr) return child_path(path, entry.key);
  }
  return std::nullopt;
}

std::optional<std::string> compare(const ConfigNode& left, const ConfigNode& right, const std::string& path) {
  if (left.kind() != right.kind()) return path;
  if (left.is_list()) return compare_lists(left, right, path);
  if (left.is_map()) return compare_maps(left, right, path);
  if (left.is_scalar() && !equal_scalars(left, right)) return path;
  return std::nullopt;
}

}  // namespace

std::string location(const SourcePosition& position) {
  std::string text = position.file;
  if (position.line > 0) text += ":" + std::to_string(position.line);
  if (position.column > 0) text += ":" + std::to_string(position.column);
  return text.empty() ? text : text + ": ";
}

ConfigNode key_node(const ConfigNode& map, const ConfigNode::Entry& entry) {
  ConfigNode key = ConfigNode::make_scalar(entry.key, entry.key_position);
  key.assign_paths(map.path());
  return key;
}

ConfigNode ConfigNode::make_null(SourcePosition position) {
  ConfigNode node;
  node.position_ = std::move(position);
  return node;
}

ConfigNode ConfigNode::make_scalar(std::string text, SourcePosition position, bool quoted) {
  ConfigNode node = make_null(std::move(position));
  node.kind_ = Kind::kScalar;
  node.text_ = std::move(text);
  node.quoted_ = quoted;
  return node;
}

ConfigNode ConfigNode::make_number(double value) {
  std::array<char, 32> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
  return make_scalar(std::string(text.data(), end), {});
}

ConfigNode ConfigNode::make_integer(std::int64_t value) {
  return make_scalar(std::to_string(value), {});
}

ConfigNode ConfigNode::make_list(std::vector<ConfigNode> items, SourcePosition position) {
  ConfigNode node = make_null(std::move(position));
  node.kind_ = Kind::kList;
  node.items_ = std::move(items);
  return node;
}

ConfigNode ConfigNode::make_map(std::vector<Entry> entries, SourcePosition position) {
  ConfigNode node = make_null(std::move(position));
  node.kind_ = Kind::kMap;
  node.entries_ = std::move(entries);
  return node;
}

const std::string& ConfigNode::as_text() const {
  if (!is_scalar()) fail_expected("a text");
  return text_;
}

std::int64_t ConfigNode::as_integer() const {
  const auto value = is_scalar() && !quoted_ ? parse_integer(text_) : std::nullopt;
  if (!value) fail_expected("a whole number");
  return *value;
}

double ConfigNode::as_number() const {
  const auto value = is_scalar() && !quoted_ ? parse_number(text_) : std::nullopt;
  if (!value) fail_expected("a number");
  return *value;
}

const std::vector<ConfigNode>& ConfigNode::items() const {
  if (!is_list()) fail_expected("a list");
  return items_;
}

const std::vector<ConfigNode::Entry>& ConfigNode::entries() const {
  if (!is_map()) fail_expected("a map");
  return entries_;
}

const ConfigNode* ConfigNode::find(std::string_view key) const {
  for (const Entry& entry : entries()) {
    if (entry.key == key) return &entry.value;
  }
  return nullptr;
}

const ConfigNode& ConfigNode::at(std::string_view key) const {
  const ConfigNode* value = find(key);
  if (value == nullptr) fail("missing key " + in_quotes(key));
  return *value;
}

void ConfigNode::fail_expected(std::string_view expected) const {
  fail("expected " + std::string(expected) + ", got " + describe() + answer_to_value(*this));
}

void ConfigNode::fail(std::string_view message) const {
  const std::string path = path_.empty() ? path_ : shortened(path_, kLongestPathShown) + ": ";
  throw UserError(location(position_) + path + std::string(message));
}

std::string ConfigNode::describe() const {
  switch (kind_) {
    case Kind::kNull:
      return "nothing";
    case Kind::kScalar:
      return quoted_ || text_.empty() ? '"' + shortened(text_) + '"' : shortened(text_);
    case Kind::kList:
      return items_.empty() ? "an empty list" : "a list of " + std::to_string(items_.size());
    case Kind::kMap:
      return entries_.empty() ? "an empty map" : "a map";
  }
  throw InternalError("unknown kind of ConfigNode");
}

void ConfigNode::assign_paths(const std::string& own_path) {
  path_ = own_path;
  for (std::size_t i = 0; i < items_.size(); ++i) items_[i].assign_paths(item_path(path_, i));
  for (Entry& entry : entries_) entry.value.assign_paths(child_path(path_, entry.key));
}

void ConfigNode::set(std::string_view dotted_path, ConfigNode value) {
  if (is_null()) kind_ = Kind::kMap;
  if (!is_map()) fail_expected("a map on the way to " + in_quotes(dotted_path));
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

void ConfigNode::fill_positions(const ConfigNode& written) {
  if (position_.file.empty()) position_ = written.position_;
  const ConfigNode here = make_null(position_);
  for (std::size_t i = 0; i < items_.size(); ++i) {
    items_[i].fill_positions(i < written.items_.size() ? written.items_[i] : here);
  }
  for (Entry& entry : entries_) {
    const ConfigNode* const own = written.is_map() ? written.find(entry.key) : nullptr;
    entry.value.fill_positions(own != nullptr ? *own : here);
  }
}

std::string first_difference(const ConfigNode& left, const ConfigNode& right) {
  return compare(left, right, {}).value_or("");
}

}  // namespace skyline
