#pragma once

#include "skyline/core/config_node.hpp"

#include <concepts>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace skyline {

class KeyTable;

/// Bounds of a number, e.g. `at_least(0).below(1)`. Infinity and NaN are always out of bounds.
struct Range {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  bool above_low = false;   // `low` itself is out of bounds
  bool below_high = false;  // `high` itself is out of bounds

  /// Return the same range with an upper bound, inclusive or exclusive.
  constexpr Range at_most(double most) const { return {low, most, above_low, false}; }
  constexpr Range below(double end) const { return {low, end, above_low, true}; }
  /// Returns whether a number is within the bounds.
  bool holds(double value) const;
};
constexpr Range at_least(double least) {
  return {.low = least};
}
constexpr Range above(double bound) {
  return {.low = bound, .above_low = true};
}

/// The keys of a section inside another one. An empty `name` means that the section has exactly these keys.
/// Several sections with names are alternatives: `optimizer: {adam: {...}}`.
struct SubSection {
  std::string name;
  std::shared_ptr<const KeyTable> keys;
};

/// The description of a value, whatever its type.
struct ValueDescription {
  std::string expected;  // e.g. "a whole number from 1 to 5"; for errors and docs/configuration.md
  ConfigNode schema;     // JSON schema of a value
  std::vector<SubSection> sections = {};
  /// Returns the part of a written value that makes a run. If it is not set, all of the value does.
  std::function<ConfigNode(const ConfigNode& written)> identity = {};
};

/// How values of one type are read from a configuration, written back and described.
template <typename M>
struct OptionKind : ValueDescription {
  /// Returns false, with any content of the value, if the node is not as expected.
  std::function<bool(const ConfigNode& node, M& value)> read = {};
  /// Writes the value. The key is not written if this returns null.
  std::function<ConfigNode(const M& value)> write = {};
};

/// Reads a number within the bounds.
OptionKind<double> number(const Range& range);
/// Reads `true` or `false`.
OptionKind<bool> flag();
/// Reads any text except an empty one, which means that the key is not given.
/// @param expected  e.g. "a file"
OptionKind<std::string> text(std::string expected);
/// Takes any content unchanged.
OptionKind<ConfigNode> tree(std::string expected, ConfigNode schema);
/// Reads seconds from `90`, `90 s`, `15 min`, `1h30m` or `2 d`, and writes them with a unit.
OptionKind<double> duration(const Range& range);
/// Reads one of the words; the value is its index in the list.
OptionKind<std::size_t> word_index(const std::vector<std::string>& words);
/// Defined for int, std::int64_t, std::uint32_t and std::uint64_t.
template <std::integral M>
OptionKind<M> integer(Range range);

/// Reads one of some words, each of which names a value of an enumeration.
template <typename E>
OptionKind<E> choice(std::vector<std::pair<std::string, E>> words) {
  std::vector<std::string> names;
  for (const auto& [name, value] : words) names.push_back(name);
  OptionKind<std::size_t> index = word_index(names);
  OptionKind<E> kind{index};
  kind.read = [words, read = index.read](const ConfigNode& node, E& value) {
    std::size_t place = 0;
    if (!read(node, place)) return false;
    value = words[place].second;
    return true;
  };
  kind.write = [words, write = index.write](const E& value) {
    std::size_t place = 0;
    while (place + 1 < words.size() && words[place].second != value) ++place;
    return write(place);
  };
  return kind;
}

/// Returns a scalar that is a text in JSON, even if it looks like a number or a flag.
ConfigNode schema_text(const std::string& text);
/// Returns a JSON schema that accepts `word` or whatever `schema` accepts.
ConfigNode keyword_or(const std::string& word, const ConfigNode& schema);

/// Reads a value, or a word that means that there is none: `window: generation`.
template <typename M>
OptionKind<std::optional<M>> or_keyword(const std::string& word, OptionKind<M> kind) {
  OptionKind<std::optional<M>> either{kind};
  either.expected = "`" + word + "` or " + kind.expected;
  either.schema = keyword_or(word, kind.schema);
  either.read = [word, read = kind.read](const ConfigNode& node, std::optional<M>& value) {
    value.reset();
    return (node.is_scalar() && node.as_text() == word) || read(node, value.emplace());
  };
  either.write = [word, write = kind.write](const std::optional<M>& value) {
    return value ? write(*value) : ConfigNode::make_scalar(word, {});
  };
  return either;
}

/// Reads a value that may be missing. A missing value is not written.
template <typename M>
OptionKind<std::optional<M>> if_given(OptionKind<M> kind) {
  OptionKind<std::optional<M>> maybe{kind};
  maybe.read = [read = kind.read](const ConfigNode& node, std::optional<M>& value) {
    return read(node, value.emplace());
  };
  maybe.write = [write = kind.write](const std::optional<M>& value) {
    return value ? write(*value) : ConfigNode();
  };
  return maybe;
}

}  // namespace skyline
