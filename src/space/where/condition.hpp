#pragma once

#include "skyline/space/search_space.hpp"

#include "space/expressions/expression.hpp"

#include <cstddef>
#include <optional>
#include <vector>

namespace skyline::space {

/// The numbers that the values of each parameter are; empty for a parameter with other values, or with
/// numbers that are not exact as doubles.
using ParameterNumbers = std::vector<std::vector<double>>;
ParameterNumbers numbers_of(const std::vector<Parameter>& parameters);

/// A condition of `where`. A comparison of two parameters is evaluated without its expression, which is some
/// fifty times as fast.
class Condition {
 public:
  /// @throws UserError if the expression is neither true nor false
  Condition(Expression expression, const std::vector<Parameter>& parameters, const ParameterNumbers& numbers);

  const Expression& expression() const { return expression_; }
  /// Returns the indices of the parameters that it names, ascending.
  const std::vector<std::size_t>& parameters() const { return expression_.parameters(); }
  /// Returns the cost of holds(), as a number of plain comparisons.
  double cost() const;
  /// Returns whether it holds; a condition that cannot be calculated does not.
  /// @param bindings  with the parameters and numbers that the constructor got
  bool holds(const Bindings& bindings, const ParameterNumbers& numbers) const;
  /// Returns 0 if it holds, and otherwise a number above 0, which is the smaller the nearer the sides of its
  /// comparisons are.
  double violation(const Bindings& bindings) const;

 private:
  Expression expression_;
  bool is_direct_ = false;
};

/// Returns the conditions that `and` joins, each by itself.
std::vector<Expression> split_conditions(const Expression& expression);

}  // namespace skyline::space
