#include "skyline/core/config_node.hpp"

#include "skyline/core/error.hpp"

#include "core/config/config_text.hpp"

#include <algorithm>
#include <array>
#include <charconv>

namespace skyline {
namespace {

constexpr std::size_t kLongestShown = 60;

std::string location(const SourcePosition& position) {
  std::string text = position.file;
  if (position.line > 0) text += (text.empty() ? "line " : ":") + std::to_string(position.line);
  if (!text.empty()) text += ": ";
  return text;
}

[[noreturn]] void fail_at(const SourcePosition& position, const std::string& path, std::string_view message) {
  throw UserError(location(position) + (path.empty() ? path : path + ": ") + std::string(message));
}

// Shortens a text to one line of bounded length, so that the message around it stays readable.
std::string shortened(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  if (text.size() > kLongestShown) text = text.substr(0, kLongestShown - 3) + "...";
  return text;
}

}  // namespace

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
  const auto value = is_scalar() && !quoted_ ? integer_in(text_) : std::nullopt;
  if (!value) fail_expected("a whole number");
  return *value;
}

double ConfigNode::as_number() const {
  const auto value = is_scalar() && !quoted_ ? number_in(text_) : std::nullopt;
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
  if (value == nullptr) fail("missing key `" + std::string(key) + "`");
  return *value;
}

void ConfigNode::allow_only(std::initializer_list<std::string_view> keys) const {
  for (const Entry& entry : entries()) {
    if (find(entry.key) != &entry.value) {
      fail_at(entry.key_position, path_, "key `" + entry.key + "` is given twice");
    }
    if (std::find(keys.begin(), keys.end(), entry.key) != keys.end()) continue;
    const std::vector<std::string> known(keys.begin(), keys.end());
    fail_at(entry.key_position, path_, "unknown key `" + entry.key + "`, " + suggestion(entry.key, known));
  }
}

void ConfigNode::fail_expected(std::string_view expected) const {
  fail("expected " + std::string(expected) + ", got " + describe());
}

void ConfigNode::fail(std::string_view message) const {
  fail_at(position_, path_, message);
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

}  // namespace skyline
