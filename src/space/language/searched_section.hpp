#pragma once

#include "skyline/core/config_node.hpp"

#include "core/config/config_errors.hpp"
#include "space/expressions/expression.hpp"

#include <functional>
#include <string>
#include <vector>

namespace skyline::space {

/// A section beside `space` in which parameters of the space give values: `learning_rate: $lr`. It needs no
/// data, so that the section can be read before there are any.
class SearchedSection {
 public:
  /// None of its values are given by parameters.
  SearchedSection() = default;
  /// Notes mistakes for check(): a value of another key, a name that the space does not declare, and one that
  /// has no single value, a parameter with `each: true`.
  /// @param searchable  dotted paths, below the section, of the keys and sections that may have such values
  /// @param known       the keys of the section; whoever reads it refuses others
  SearchedSection(const ConfigNode& section, const ConfigNode& space,
                  const std::vector<std::string>& searchable, const std::vector<std::string>& known);

  /// The scalars as they are written, in the order of the section.
  const std::vector<ConfigNode>& written() const { return written_; }
  /// The section with the values that the first genotype gives, as far as they can be read.
  ConfigNode with_first_values() const;
  /// Has `visit` look at the section with each value of each scalar, beside the first ones of the others, and
  /// with all combinations if they are few.
  /// @throws UserError for what the constructor noted, else that of `visit`, with the values of the
  /// parameters
  void check(const std::function<void(const ConfigNode& section)>& visit) const;
  /// Whether a message is about one of the scalars.
  bool is_named_in(const std::string& message) const;

 private:
  ConfigNode with_values(const Genotype& genotype) const;
  void check_values(const std::vector<std::size_t>& varied,
                    const std::function<void(const ConfigNode& section)>& visit) const;

  ConfigNode section_;
  std::vector<ConfigNode> written_;
  Mistakes mistakes_;
  std::vector<Expression> expressions_;  // of the scalars without a mistake
  std::vector<Parameter> parameters_;    // of the space, as far as they are shared
};

/// Of a whole configuration, the scalars of other sections to which its parameters give values: for
/// readers that need not know the evaluator.
std::vector<ConfigNode> searched_scalars(const ConfigNode& root);
/// Where a scalar stands, below the section at the root of the configuration that it is in.
std::string key_in_section(const ConfigNode& scalar);
/// A value as a scalar that stands in place of an expression.
ConfigNode scalar_of(const Value& value, const SourcePosition& position);

}  // namespace skyline::space
