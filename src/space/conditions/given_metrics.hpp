#pragma once

#include "skyline/space/search_space.hpp"

#include "space/conditions/condition_term.hpp"
#include "space/expressions/expression.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace skyline::space {

/// What the expression of a given metric is, for messages.
inline constexpr const char* kGivenExample = "a number, for example $layers * $width";

/// The metrics of a space that expressions give. They are calculated exactly, as conditions are, and rounded
/// once. It has the names of those that a program counts, too. Immutable, so any thread may use it.
class GivenMetrics {
 public:
  /// @param read        the expressions of `given` that has some, in the same order
  /// @param parameters  those of the space; must outlive this object
  /// @throws UserError for an expression that is never a number, or can never be calculated
  GivenMetrics(const std::vector<GivenExpression>& given, const std::vector<Expression>& read,
               const std::vector<Parameter>& parameters, std::int64_t classes);

  /// Returns the names in their order; the views are valid as long as this object.
  std::vector<std::string_view> names() const;
  /// Returns the names of the metrics that a program counts.
  const std::vector<std::string>& counted() const { return counted_; }
  /// Checks that every metric has a value for a genotype, within its range.
  /// @param cost  costs of the genotype's network; zeros without one
  /// @param used  used[p] becomes true when parameter p is read, also if the check fails
  /// @throws UserError that says why a metric has no such value
  void check(const Genotype& genotype, const Cost& cost, std::vector<bool>& used) const;
  /// Returns a value, or nullopt for a name that is not given. @throws UserError as check()
  std::optional<double> value(std::string_view name, const Genotype& genotype, const Cost& cost) const;

 private:
  struct Metric {
    GivenExpression given;
    Expression expression;
    ConditionTerm term;
  };

  double value(const Metric& metric, const Bindings& bindings) const;
  [[noreturn]] static void fail(const Metric& metric, const Bindings& bindings, const std::string& problem);

  const std::vector<Parameter>& parameters_;
  std::int64_t classes_;
  ConditionValues values_;
  std::vector<Metric> metrics_;
  std::vector<std::string> counted_;
};

}  // namespace skyline::space
