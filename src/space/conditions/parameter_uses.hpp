#pragma once

#include "skyline/core/random.hpp"
#include "skyline/space/search_space.hpp"

#include "space/conditions/condition_term.hpp"
#include "space/expressions/expression.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace skyline::space {

/// Which parameters a genotype uses, by the conditions `when` of the parameters. One without a condition is
/// always used. A condition that reads an unused parameter, from left to right, does not hold. Genotypes that
/// differ in unused parameters alone are one architecture, whose genotype has their first values. Immutable,
/// so any thread may use it.
class ParameterUses {
 public:
  /// @param written     for each parameter: its condition, or nullopt
  /// @param parameters  must outlive this object
  /// @throws UserError for an expression that is no condition, names no parameter or never holds, and for a
  ///         parameter whose condition depends on the parameter itself
  ParameterUses(const std::vector<std::optional<Expression>>& written,
                const std::vector<Parameter>& parameters, std::int64_t classes);

  /// Returns whether no parameter has a condition, so that all are used.
  bool empty() const { return steps_.empty(); }
  bool has_condition(std::size_t parameter) const { return step_of(parameter) != nullptr; }
  /// Returns which parameters a genotype uses, [parameters].
  /// @param reads  is set to true for the parameters on which the answer depends
  std::vector<bool> used(const Genotype& genotype, std::vector<bool>& reads) const;
  std::vector<bool> used(const Genotype& genotype) const;
  /// Returns the genotype with the first value of each parameter that it does not use.
  Genotype canonical(Genotype genotype, std::vector<bool>& reads) const;
  Genotype canonical(Genotype genotype) const;
  /// Returns the genotype with an evenly drawn value of each parameter that it does not use. If a change of
  /// others lets it use them, their values are then random.
  Genotype with_drawn(Genotype genotype, RandomStream& random) const;
  /// Refuses an expression outside of these conditions that reads, from left to right, a parameter which some
  /// genotype does not use.
  /// @throws UserError with such values, and for more than a million combinations of values
  void check_reader(const Expression& expression) const;
  /// Refuses a reader that is no single expression, as the other check_reader() does.
  /// @param source  where it is written
  /// @param named   the parameters that it names, ascending
  /// @param read    reads it in one genotype, and may throw a UserError where it has no value
  void check_reader(const ConfigNode& source, const std::vector<std::size_t>& named,
                    const std::function<void(const Bindings& bindings)>& read) const;

 private:
  struct Step {
    std::size_t parameter = 0;
    Expression expression;
    ConditionTerm condition;
  };

  void add(std::size_t parameter, const std::vector<std::optional<Expression>>& written,
           std::vector<int>& states);
  void check_holds_once(const Step& step) const;
  const Step* step_of(std::size_t parameter) const;
  std::vector<std::size_t> with_conditions(const std::vector<std::size_t>& named) const;

  const std::vector<Parameter>& parameters_;
  const std::int64_t classes_;
  ConditionValues values_;
  std::vector<Step> steps_;  // the conditions; one comes after those of the parameters that it names
};

}  // namespace skyline::space
