#pragma once

#include "skyline/core/config_node.hpp"

#include "core/config/config_errors.hpp"
#include "space/language/searched_value.hpp"

#include <functional>
#include <string>
#include <vector>

namespace skyline::space {

/// A section besides `space` in which parameters of the space give values: `learning_rate: $lr`, or
/// `{$optimizer: {learning_rate: $lr}}` (SearchedValue). Reading it needs no data, so it can be read before
/// there are any.
class SearchedSection {
 public:
  /// Makes a section without values from parameters.
  SearchedSection() = default;
  /// Notes mistakes for check(): a value of a key that cannot have one, a name that the space does not
  /// declare, and one without a single value, i.e. a parameter with `each: true`.
  /// @param searchable  dotted paths, below the section, of the keys and sections that may have such values
  /// @param known       the keys of the section; its reader refuses others
  /// @param is_plain    whether a `$` in the texts of all other keys has no meaning
  SearchedSection(const ConfigNode& section, const ConfigNode& space,
                  const std::vector<std::string>& searchable, const std::vector<std::string>& known,
                  bool is_plain);

  /// Returns the values as they are written, in the order of the section.
  const std::vector<ConfigNode>& written() const { return written_; }
  /// Returns these and, of a user's trainer in a space with a network, one for each parameter that its
  /// arguments state: all on which results depend besides the network.
  std::vector<ConfigNode> counted() const;
  /// Returns the section with the values that the first genotype gives, as far as they can be read.
  ConfigNode with_first_values() const;
  /// Calls `visit` for the section with each value of each scalar, while the other scalars have their first
  /// values; if there are few combinations, for all of them.
  /// @throws UserError for a noted mistake, or the one of `visit` with the values of the parameters
  void check(const std::function<void(const ConfigNode& section)>& visit) const;
  /// Returns whether a message is about one of the scalars.
  bool is_named_in(const std::string& message) const;

 private:
  ConfigNode with_values(const Genotype& genotype) const;
  void check_values(const std::vector<std::size_t>& varied,
                    const std::function<void(const ConfigNode& section)>& visit) const;

  ConfigNode section_;
  std::vector<ConfigNode> written_;
  std::vector<ConfigNode> given_;
  Mistakes mistakes_;
  std::vector<SearchedValue> values_;  // values without a mistake
  std::vector<Parameter> parameters_;  // shared parameters of the space
};

/// Returns the values of all sections of a configuration that parameters give; for readers that need not know
/// the evaluator.
std::vector<ConfigNode> searched_scalars(const ConfigNode& root);
/// Returns the path of a value below its top-level section.
std::string key_in_section(const ConfigNode& value);

}  // namespace skyline::space
