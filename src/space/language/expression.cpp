#include "space/language/expression.hpp"

#include <algorithm>
#include <cmath>

namespace skyline::space {
namespace {

using Operation = Expression::Operation;

[[noreturn]] void fail(const ConfigNode& source, const std::string& problem) {
  source.fail("in `" + source.as_text() + "`: " + problem);
}

std::int64_t whole(std::int64_t left, std::int64_t right, Operation operation, const ConfigNode& source) {
  std::int64_t result = 0;
  bool overflow = false;
  switch (operation) {
    case Operation::kAdd:
      overflow = __builtin_add_overflow(left, right, &result);
      break;
    case Operation::kSubtract:
      overflow = __builtin_sub_overflow(left, right, &result);
      break;
    case Operation::kMultiply:
      overflow = __builtin_mul_overflow(left, right, &result);
      break;
    case Operation::kMin:
      return std::min(left, right);
    case Operation::kMax:
      return std::max(left, right);
    default: {  // kDivide, kRemainder
      if (right == 0) fail(source, "division of " + std::to_string(left) + " by zero");
      if (right == -1)
        return operation == Operation::kRemainder ? 0 : whole(0, left, Operation::kSubtract, source);
      if (operation == Operation::kRemainder) return left % right;
      if (left % right != 0) {
        fail(source, std::to_string(left) + " is not divisible by " + std::to_string(right));
      }
      return left / right;
    }
  }
  if (overflow) fail(source, "the result does not fit into 64 bits");
  return result;
}

double fractional(double left, double right, Operation operation, const ConfigNode& source) {
  double result = 0;
  switch (operation) {
    case Operation::kAdd:
      result = left + right;
      break;
    case Operation::kSubtract:
      result = left - right;
      break;
    case Operation::kMultiply:
      result = left * right;
      break;
    case Operation::kDivide:
      result = left / right;
      break;
    case Operation::kMin:
      return std::min(left, right);
    case Operation::kMax:
      return std::max(left, right);
    default:
      fail(source, "% takes whole numbers only");
  }
  if (!std::isfinite(result)) fail(source, "the result is not a finite number");
  return result;
}

Value combine(const Value& left, const Value& right, Operation operation, const ConfigNode& source) {
  const auto* left_integer = std::get_if<std::int64_t>(&left);
  const auto* right_integer = std::get_if<std::int64_t>(&right);
  if (left_integer != nullptr && right_integer != nullptr) {
    return whole(*left_integer, *right_integer, operation, source);
  }
  return fractional(as_number(left), as_number(right), operation, source);
}

bool is_operand(Operation operation) {
  return operation == Operation::kConstant || operation == Operation::kParameter ||
         operation == Operation::kClasses;
}

Value operand(const Expression::Step& step, const Bindings& bindings) {
  if (step.operation == Operation::kConstant) return step.constant;
  if (step.operation == Operation::kClasses) return bindings.classes;
  bindings.used[step.parameter] = true;
  return bindings.parameters[step.parameter].values[bindings.genotype.choices[step.parameter]];
}

}  // namespace

Value Expression::evaluate(const Bindings& bindings) const {
  if (steps_.size() == 1) return operand(steps_.front(), bindings);  // most attributes are no more than that
  std::vector<Value> stack;
  for (const Step& step : steps_) {
    if (step.operation == Operation::kNegate) {
      stack.back() = combine(Value(std::int64_t{0}), stack.back(), Operation::kSubtract, source_);
    } else if (is_operand(step.operation)) {
      stack.push_back(operand(step, bindings));
    } else {
      const Value right = std::move(stack.back());
      stack.pop_back();
      stack.back() = combine(stack.back(), right, step.operation, source_);
    }
  }
  return std::move(stack.back());
}

bool is_parameter_name(std::string_view text) {
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";
  constexpr std::string_view kDigits = "0123456789";
  if (text.empty() || kLetters.find(text.front()) == std::string_view::npos) return false;
  return std::all_of(text.begin(), text.end(), [&](char letter) {
    return kLetters.find(letter) != std::string_view::npos || kDigits.find(letter) != std::string_view::npos;
  });
}

}  // namespace skyline::space
