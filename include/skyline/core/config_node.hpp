#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace skyline {

/// Position of a piece of the user's input. Lines and columns count from 1; 0 means unknown.
struct SourcePosition {
  std::string file;
  int line = 0;
  int column = 0;
};

/// One node of the user's configuration: a neutral tree that every module reads its own section from,
/// independent of the file format. Each node knows its place, so every error names file, line and key:
///   `configs/a.yaml:12:5: space.parameters.depth: expected a list of values, got 3`
/// Copies are deep. Reading is safe from several threads; set() and assign_paths() are not.
class ConfigNode {
 public:
  enum class Kind { kNull, kScalar, kList, kMap };
  struct Entry;  // {key, value}

  ConfigNode() = default;  // makes a null without a place
  /// Makes a value. @param position  its place in the user's input, which errors name
  static ConfigNode make_null(SourcePosition position);
  static ConfigNode make_scalar(std::string text, SourcePosition position, bool quoted = false);
  /// Makes a scalar with the shortest text that reads back to this number; used to write a configuration.
  static ConfigNode make_number(double value);
  static ConfigNode make_integer(std::int64_t value);
  static ConfigNode make_list(std::vector<ConfigNode> items, SourcePosition position);
  static ConfigNode make_map(std::vector<Entry> entries, SourcePosition position);

  /// Return the kind of value. A quoted scalar is always read as text.
  Kind kind() const { return kind_; }
  bool is_scalar() const { return kind_ == Kind::kScalar; }
  bool is_list() const { return kind_ == Kind::kList; }
  bool is_map() const { return kind_ == Kind::kMap; }
  bool is_null() const { return kind_ == Kind::kNull; }
  bool quoted() const { return quoted_; }
  const SourcePosition& position() const { return position_; }
  /// Dotted key path from the root, e.g. "space.network[0].body[1].conv2d". Set by assign_paths.
  const std::string& path() const { return path_; }

  /// Typed reads of this node's scalar or list.
  /// @throws UserError with file, line, key path, what was expected and what was found
  const std::string& as_text() const;
  std::int64_t as_integer() const;
  double as_number() const;
  /// Returns the values of a list, or the entries of a map in the order of the input.
  const std::vector<ConfigNode>& items() const;
  const std::vector<Entry>& entries() const;

  /// Returns the value of a key of this map, or nullptr if the key is missing. The map owns the value.
  /// @throws UserError if this is not a map
  const ConfigNode* find(std::string_view key) const;
  /// Returns the value of a key that must be there. The map owns the value.
  /// @throws UserError ("missing key `x`")
  const ConfigNode& at(std::string_view key) const;

  /// Refuses the content of this node.
  /// @throws UserError "<file>:<line>:<column>: <path>: expected <expected>, got <what is here>"
  [[noreturn]] void fail_expected(std::string_view expected) const;
  /// Refuses this node for another reason.
  /// @throws UserError "<file>:<line>:<column>: <path>: <message>"
  [[noreturn]] void fail(std::string_view message) const;
  /// Describes the content for messages, shortened: `3`, `a list of 4`, `a map`, `nothing`.
  std::string describe() const;

  /// Sets path() on this node and all below it. Call once on the root after building or changing a tree.
  void assign_paths(const std::string& own_path = {});
  /// Replaces or adds the value at a dotted path of map keys ("search.iterations") and makes missing maps.
  /// Call assign_paths on the root afterwards.
  /// @throws UserError if the path leads through a scalar or a list
  void set(std::string_view dotted_path, ConfigNode value);
  /// Gives each node without a position that of the same node of `written`, else that of the node above it.
  void fill_positions(const ConfigNode& written);

 private:
  template <typename Visitor>
  friend void for_each_field(ConfigNode& node, Visitor& visit);

  Kind kind_ = Kind::kNull;
  bool quoted_ = false;
  SourcePosition position_;
  std::string path_;
  std::string text_;
  std::vector<ConfigNode> items_;
  std::vector<Entry> entries_;
};

struct ConfigNode::Entry {
  std::string key;
  ConfigNode value;
  SourcePosition key_position;
};

/// Returns the dotted path of the first scalar, list length or key in which the two trees differ, or "" if
/// they are equal. Positions do not count. Numbers that are equal as numbers are equal (1e-4 and 0.0001).
std::string first_difference(const ConfigNode& left, const ConfigNode& right);

/// Returns the candidate that a misspelt `word` probably means: the nearest one, or one that it begins.
/// Returns an empty text if none is near.
std::string nearest_word(std::string_view word, const std::vector<std::string>& candidates);

/// Returns the end of an error about an unknown word: "did you mean `width`?", or "known here: a, b, c".
std::string suggestion(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace skyline
