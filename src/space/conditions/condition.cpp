#include "space/conditions/condition.hpp"

#include "skyline/core/error.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace skyline::space {
namespace {

constexpr double kCostOfANode = 20;  // evaluating a node takes as long as so many plain comparisons

bool compare(double left, double right, Operation operation) {
  switch (operation) {
    case Operation::kEqual:
      return left == right;
    case Operation::kUnequal:
      return left != right;
    case Operation::kLess:
      return left < right;
    case Operation::kAtMost:
      return left <= right;
    case Operation::kGreater:
      return left > right;
    default:
      return left >= right;
  }
}

}  // namespace

Condition::Condition(Expression expression, const ConditionValues& values, std::int64_t classes)
    : expression_(std::move(expression)), term_(*expression_.root(), values, classes, expression_.source()) {
  const ExpressionNode& root = *expression_.root();
  if (term_.kinds() != ConditionValues::kFlag) {
    expression_.source().fail_expected("a condition, for example $w2 >= $w1");
  }
  const bool is_comparison = root.operation >= Operation::kEqual && root.operation <= Operation::kAtLeast;
  is_direct_ =
      is_comparison && std::ranges::all_of(root.operands, [&](const ExpressionPart& operand) {
        return operand->operation == Operation::kParameter && !values.numbers(operand->parameter).empty();
      });
}

Condition Condition::asking(Question question, ConditionRules rules) const {
  Condition other = *this;
  other.question_ = question;
  other.rules_ = rules;
  return other;
}

double Condition::cost() const {
  return is_direct_ ? 1 : kCostOfANode * static_cast<double>(expression_.root()->size);
}

/// @pre is_direct_
std::pair<double, double> Condition::sides(const Bindings& bindings, const ConditionValues& values) const {
  const auto number = [&](const ExpressionPart& operand) {
    return values.numbers(operand->parameter)[bindings.genotype.choices[operand->parameter]];
  };
  const ExpressionNode& root = *expression_.root();
  return {number(root.operands[0]), number(root.operands[1])};
}

bool Condition::answer(const Bindings& bindings, const ConditionValues& values) const {
  bool holds = false;
  bool fails = false;
  if (is_direct_) {
    const auto [left, right] = sides(bindings, values);
    holds = compare(left, right, expression_.root()->operation);
  } else if (rules_ == ConditionRules::kBinary) {
    holds = holds_by_old_rules(bindings);
  } else {
    const Operand result = term_.calculate(bindings, values);
    const bool* flag = std::get_if<bool>(&result);
    holds = flag != nullptr && *flag;
    fails = flag == nullptr;
  }
  switch (question_) {
    case Question::kHolds:
      return holds;
    case Question::kDoesNotHold:
      return !holds;
    case Question::kCannotBeCalculated:
      return fails;
    default:
      return holds || fails;
  }
}

/// Whole numbers had 64 bits, others were doubles, and `/` of whole numbers had to be exact. What could not
/// be calculated did not hold.
bool Condition::holds_by_old_rules(const Bindings& bindings) const {
  try {
    return expression_.holds(bindings);
  } catch (const UserError&) {
    return false;
  }
}

std::string Condition::failure(const Bindings& bindings, const ConditionValues& values) const {
  std::string why;
  if (!is_direct_ && rules_ == ConditionRules::kExact) (void)term_.calculate(bindings, values, &why);
  return why;
}

double Condition::violation(const Bindings& bindings, const ConditionValues& values) const {
  if (!is_direct_) return term_.violation(bindings, values);
  const auto [left, right] = sides(bindings, values);
  const Operation operation = expression_.root()->operation;
  if (compare(left, right, operation)) return 0;
  return operation == Operation::kUnequal ? 1 : 1 + std::log1p(std::abs(left - right));
}

std::vector<Expression> split_conditions(const Expression& expression) {
  if (expression.root()->operation != Operation::kAnd) return {expression};
  std::vector<Expression> conditions;
  for (const ExpressionPart& operand : expression.root()->operands) {
    const std::vector<Expression> inner = split_conditions(Expression(operand, expression.source()));
    conditions.insert(conditions.end(), inner.begin(), inner.end());
  }
  return conditions;
}

}  // namespace skyline::space
