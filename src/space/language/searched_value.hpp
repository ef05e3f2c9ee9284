#pragma once

#include "skyline/core/config_node.hpp"

#include "space/expressions/expression.hpp"

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace skyline::space {

/// A value outside of the space that its parameters give: an expression, or a section whose word a parameter
/// chooses: `{$optimizer: {learning_rate: $rate}}`, the same keys for all words, or with keys for each word,
/// `{$optimizer: {adam: {learning_rate: $small}, sgd: {learning_rate: $large}}}`. Immutable.
class SearchedValue {
 public:
  /// Reads a scalar, or such a section.
  /// @param read  reads a scalar of it
  /// @throws UserError for a mistake
  SearchedValue(const ConfigNode& node, const std::vector<Parameter>& parameters,
                const std::function<Expression(const ConfigNode& scalar)>& read);
  /// Returns whether a parameter of the space chooses the variant of a section, by the word that selects it.
  static bool is_section(const ConfigNode& node);

  /// Returns the value in one genotype. That of a section is its text, `{adam: {learning_rate: 0.01}}`.
  /// Parameters of words that are not chosen do not count as used.
  Value evaluate(const Bindings& bindings) const;
  const ConfigNode& source() const { return source_; }
  /// Returns the indices of the parameters that it names, ascending.
  std::vector<std::size_t> parameters() const;
  /// Returns whether an expression of it is or contains `$classes`.
  bool names_classes() const;

 private:
  struct Entry;

  std::string text(const Bindings& bindings) const;

  ConfigNode source_;
  std::optional<Expression> expression_;  // a scalar's expression, or the word of a section
  std::vector<Entry> entries_;            // keys and values of a map, or of each word of a section
  bool is_section_ = false;
  bool is_by_word_ = false;  // whether there is an entry for each word, instead of one for all
};

struct SearchedValue::Entry {
  std::string key;
  SearchedValue value;
};

}  // namespace skyline::space
