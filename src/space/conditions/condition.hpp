#pragma once

#include "skyline/space/search_space.hpp"

#include "space/conditions/condition_term.hpp"
#include "space/expressions/expression.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace skyline::space {

/// A condition of `where`. A comparison of two parameters is evaluated without its expression, which is some
/// fifty times as fast.
class Condition {
 public:
  /// What is asked about a condition in one genotype.
  enum class Question { kHolds, kDoesNotHold, kCannotBeCalculated, kHoldsOrCannotBeCalculated };

  /// @throws UserError if the expression is neither true nor false, or can never be calculated
  Condition(Expression expression, const ConditionValues& values, std::int64_t classes);

  const Expression& expression() const { return expression_; }
  /// Returns the indices of the parameters that it names, ascending.
  const std::vector<std::size_t>& parameters() const { return expression_.parameters(); }
  /// Returns whether values() must have the operands of its parameters.
  bool needs_operands() const { return !is_direct_; }
  /// Returns whether there may be genotypes for which it cannot be calculated.
  bool may_fail() const { return term_.may_fail(); }
  /// Returns whether it holds for the same genotypes by all rules, whatever the values are.
  bool is_plain() const { return is_direct_ || !term_.is_arithmetic(); }

  /// Returns the condition about which something else is asked, by these rules.
  Condition asking(Question question, ConditionRules rules) const;
  /// Returns the cost of answer(), as a number of plain comparisons.
  double cost() const;
  /// Answers what is asked. By default that is whether it holds; one that cannot be calculated does not.
  /// @param bindings  with the parameters of `values`
  bool answer(const Bindings& bindings, const ConditionValues& values) const;
  /// Returns what cannot be calculated, e.g. "3 / 0", or an empty text.
  std::string failure(const Bindings& bindings, const ConditionValues& values) const;
  /// Returns 0 if it holds, and otherwise a number above 0, which is the smaller the nearer the sides of its
  /// comparisons are.
  double violation(const Bindings& bindings, const ConditionValues& values) const;

 private:
  std::pair<double, double> sides(const Bindings& bindings, const ConditionValues& values) const;
  bool holds_by_old_rules(const Bindings& bindings) const;

  Expression expression_;
  ConditionTerm term_;
  bool is_direct_ = false;
  Question question_ = Question::kHolds;
  ConditionRules rules_ = ConditionRules::kExact;
};

/// Returns the conditions that `and` joins, each by itself.
std::vector<Expression> split_conditions(const Expression& expression);

}  // namespace skyline::space
