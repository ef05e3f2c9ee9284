#include "space/where/condition.hpp"

#include "skyline/core/error.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace skyline::space {
namespace {

constexpr double kCostOfANode = 20;  // evaluating a node takes as long as so many plain comparisons

bool is_comparison(Operation operation) {
  return operation >= Operation::kEqual && operation <= Operation::kAtLeast;
}

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

/// Returns whether every value of the part is true or false.
bool is_flag(const ExpressionNode& node, const std::vector<Parameter>& parameters) {
  const auto is_bool = [](const Value& value) { return std::holds_alternative<bool>(value); };
  switch (node.operation) {
    case Operation::kConstant:
      return is_bool(node.constant);
    case Operation::kParameter:
      return std::ranges::all_of(parameters[node.parameter].values, is_bool);
    case Operation::kAnd:
    case Operation::kOr:
    case Operation::kNot:
      return std::ranges::all_of(
          node.operands, [&](const ExpressionPart& operand) { return is_flag(*operand, parameters); });
    case Operation::kIf:
      return is_flag(*node.operands[1], parameters) && is_flag(*node.operands[2], parameters);
    default:
      return is_comparison(node.operation);
  }
}

double violation_of(const ExpressionPart& part, const ConfigNode& source, const Bindings& bindings) {
  const auto value = [&](std::size_t operand) {
    return Expression(part->operands[operand], source).evaluate(bindings);
  };
  const auto violation = [&](std::size_t operand) {
    return violation_of(part->operands[operand], source, bindings);
  };
  if (part->operation == Operation::kAnd) return violation(0) + violation(1);
  if (part->operation == Operation::kOr) return std::min(violation(0), violation(1));
  if (Expression(part, source).holds(bindings)) return 0;
  if (!is_comparison(part->operation) || part->operation == Operation::kUnequal) return 1;
  const Value left = value(0);
  const Value right = value(1);
  if (!is_number(left) || !is_number(right)) return 1;
  return 1 + std::log1p(std::abs(as_number(left) - as_number(right)));
}

}  // namespace

ParameterNumbers numbers_of(const std::vector<Parameter>& parameters) {
  constexpr double kExact = 0x1p53;
  const auto is_exact = [](const Value& value) {
    return is_number(value) && std::abs(as_number(value)) <= kExact;
  };
  ParameterNumbers numbers(parameters.size());
  for (std::size_t p = 0; p < parameters.size(); ++p) {
    if (!std::ranges::all_of(parameters[p].values, is_exact)) continue;
    for (const Value& value : parameters[p].values) numbers[p].push_back(as_number(value));
  }
  return numbers;
}

Condition::Condition(Expression expression, const std::vector<Parameter>& parameters,
                     const ParameterNumbers& numbers)
    : expression_(std::move(expression)) {
  const ExpressionNode& root = *expression_.root();
  if (!is_flag(root, parameters)) {
    expression_.source().fail_expected("a condition, for example $w2 >= $w1");
  }
  is_direct_ =
      is_comparison(root.operation) && std::ranges::all_of(root.operands, [&](const ExpressionPart& operand) {
        return operand->operation == Operation::kParameter && !numbers[operand->parameter].empty();
      });
}

double Condition::cost() const {
  return is_direct_ ? 1 : kCostOfANode * static_cast<double>(expression_.root()->size);
}

bool Condition::holds(const Bindings& bindings, const ParameterNumbers& numbers) const {
  if (is_direct_) {
    const ExpressionNode& root = *expression_.root();
    const std::size_t left = root.operands[0]->parameter;
    const std::size_t right = root.operands[1]->parameter;
    return compare(numbers[left][bindings.genotype.choices[left]],
                   numbers[right][bindings.genotype.choices[right]], root.operation);
  }
  try {
    return expression_.holds(bindings);
  } catch (const UserError&) {
    return false;
  }
}

double Condition::violation(const Bindings& bindings) const {
  constexpr double kCannotBeCalculated = 100;
  try {
    return violation_of(expression_.root(), expression_.source(), bindings);
  } catch (const UserError&) {
    return kCannotBeCalculated;
  }
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
