#include "skyline/core/config_node.hpp"

#include "skyline/core/error.hpp"

#include "core/config/config_text.hpp"
#include "core/config/foreign_words.hpp"
#include "core/text/foreign_text.hpp"
#include "core/text/wording.hpp"

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

constexpr std::size_t kShortestBeginning = 3;  // letters of a beginning or an end that suggests its word
constexpr std::size_t kShortestMisspelt =
    6;                                     // letters of an end that suggests its word with one letter wrong
constexpr std::size_t kLongestWord = 200;  // Longer words are not compared.

// Names of methods of the field, in small letters and without separators. They are never taken for
// misspellings of other names, however near they are. Each has a blank on both sides.
constexpr std::string_view kMethods =
    " adadelta adafactor adagrad adam adamax adamw asgd lamb lars lbfgs lion nadam radam rmsprop rprop "
    "sgd celu elu gelu glu mish prelu relu relu6 rrelu selu silu swish leakyrelu hardswish avgpool "
    "maxpool lppool adaptiveavgpool conv1d conv2d conv3d batchnorm groupnorm instancenorm layernorm "
    "rmsnorm dropout droppath accuracy precision recall f1 mae mape mse msle rmse huber hinge focal "
    "crossentropy binarycrossentropy nsga2 nsga3 moead smsemoa ";

/// Returns true if the word names another method than the candidate.
bool is_another_method(std::string_view word, const std::string& candidate) {
  std::string letters = letters_of(word);
  std::string other = letters_of(candidate);
  // Names of metrics begin with the name of a set.
  for (const std::string_view set : {"validation", "test", "train"}) {
    if (!other.starts_with(set)) continue;
    other.erase(0, set.size());
    if (letters.starts_with(set)) letters.erase(0, set.size());
  }
  return letters != other && has_word(kMethods, letters);
}

// Returns the restricted Damerau-Levenshtein distance: insert, delete or replace one letter, swap two
// neighbours. Case does not count. Only the last three rows of the table are kept.
std::size_t edit_distance(const std::string& left, const std::string& right) {
  std::vector<std::size_t> before_last(right.size() + 1);
  std::vector<std::size_t> last(right.size() + 1);
  std::vector<std::size_t> row(right.size() + 1);
  for (std::size_t j = 0; j < last.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= left.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= right.size(); ++j) {
      const std::size_t replaced = last[j - 1] + (left[i - 1] == right[j - 1] ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, replaced});
      const bool swapped = i > 1 && j > 1 && left[i - 1] == right[j - 2] && left[i - 2] == right[j - 1];
      if (swapped) row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
    std::swap(before_last, last);
    std::swap(last, row);
  }
  return last[right.size()];
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

std::string nearest_word(std::string_view word, const std::vector<std::string>& candidates) {
  if (word.size() > kLongestWord) return "";
  std::string nearest;
  std::size_t smallest = std::string::npos;
  for (const std::string& candidate : candidates) {
    const std::size_t longer = std::max(word.size(), candidate.size());
    // Up to a third of the letters may be wrong, but never all of them.
    const std::size_t most = (longer + 2) / 3;
    if (longer - std::min(word.size(), candidate.size()) > most) continue;
    const std::size_t distance = edit_distance(lower_case(word), lower_case(candidate));
    if (distance > most || distance >= longer || distance >= smallest) continue;
    if (is_another_method(word, candidate)) continue;
    smallest = distance;
    nearest = candidate;
  }
  if (!nearest.empty() || word.size() < kShortestBeginning) return nearest;
  const std::string part = lower_case(word);
  const auto longer = std::ranges::find_if(candidates, [&](const std::string& candidate) {
    const std::string whole = lower_case(candidate);
    const std::size_t last = whole.rfind('_') + 1;  // begin of the last part; 0 if it is the only one
    const bool is_near = part.size() >= kShortestMisspelt && last > 0 &&
                         whole.size() - last <= kLongestWord && edit_distance(part, whole.substr(last)) <= 1;
    return (whole.starts_with(part) || whole.ends_with("_" + part) || is_near) &&
           !is_another_method(word, candidate);
  });
  return longer == candidates.end() ? "" : *longer;
}

std::string suggestion(std::string_view word, const std::vector<std::string>& candidates) {
  return suggestion(word, candidates, NamesOf::kProgram);
}

std::string suggestion(std::string_view word, const std::vector<std::string>& candidates, NamesOf names) {
  constexpr std::size_t kMostShown = 100;
  if (names != NamesOf::kUser) {
    const std::string answer = foreign_answer(word, candidates, names == NamesOf::kMetrics ? "metric:" : "");
    if (!answer.empty()) return answer;
  }
  const std::string nearest = nearest_word(word, candidates);
  if (!nearest.empty()) return "did you mean " + in_quotes(nearest) + "?";
  if (candidates.empty()) return "none is known here";
  std::vector<std::string> shown;
  for (const std::string& candidate : candidates) {
    if (shown.size() < kMostShown) shown.push_back(shortened(candidate));
  }
  const std::size_t more = candidates.size() - shown.size();
  return "known here: " + joined(shown) + (more == 0 ? "" : " and " + std::to_string(more) + " more");
}

}  // namespace skyline
