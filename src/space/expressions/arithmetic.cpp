#include "space/expressions/arithmetic.hpp"

#include "core/text/foreign_text.hpp"

#include <algorithm>
#include <cmath>

namespace skyline::space {
namespace {

[[noreturn]] void fail_in(const ConfigNode& source, const std::string& problem) {
  source.fail("in " + in_quotes(source.as_text()) + ": " + problem);
}

[[noreturn]] void fail_overflow(const ConfigNode& source) {
  fail_in(source, "the result does not fit into 64 bits");
}

std::int64_t quotient(std::int64_t left, std::int64_t right, Operation operation, const ConfigNode& source) {
  if (right == 0) fail_in(source, "division of " + std::to_string(left) + " by zero");
  std::int64_t negated = 0;
  if (right == -1) {
    if (operation == Operation::kRemainder) return 0;
    if (__builtin_sub_overflow(std::int64_t{0}, left, &negated)) fail_overflow(source);
    return negated;
  }
  const bool rounds_up = left % right != 0 && (left < 0) != (right < 0);
  if (operation == Operation::kRemainder) return left % right + (rounds_up ? right : 0);
  if (operation == Operation::kDivideWhole) return left / right - (rounds_up ? 1 : 0);
  if (left % right != 0) {
    fail_in(source,
            std::to_string(left) + " is not divisible by " + std::to_string(right) + " (`//` rounds down)");
  }
  return left / right;
}

std::int64_t power(std::int64_t base, std::int64_t exponent, const ConfigNode& source) {
  if (exponent < 0) fail_in(source, "a whole number to the power of " + std::to_string(exponent));
  std::int64_t result = 1;
  for (; exponent > 0; --exponent) {
    if (__builtin_mul_overflow(result, base, &result)) fail_overflow(source);
    if (result == 0 || result == 1) return result;
    if (result == -1) return exponent % 2 == 1 ? -1 : 1;
  }
  return result;
}

std::int64_t whole_result(std::int64_t left, std::int64_t right, Operation operation,
                          const ConfigNode& source) {
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
    case Operation::kPower:
      return power(left, right, source);
    case Operation::kMin:
      return std::min(left, right);
    case Operation::kMax:
      return std::max(left, right);
    default:
      return quotient(left, right, operation, source);
  }
  if (overflow) fail_overflow(source);
  return result;
}

double fractional_result(double left, double right, Operation operation, const ConfigNode& source) {
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
    case Operation::kDivideWhole:
      result = std::floor(left / right);
      break;
    case Operation::kPower:
      result = std::pow(left, right);
      break;
    case Operation::kMin:
      return std::min(left, right);
    case Operation::kMax:
      return std::max(left, right);
    default:
      fail_in(source, "% takes whole numbers only");
  }
  if (!std::isfinite(result)) fail_in(source, "the result is not a finite number");
  return result;
}

template <typename T>
bool compares(T left, T right, Operation operation) {
  if (operation == Operation::kLess) return left < right;
  if (operation == Operation::kAtMost) return left <= right;
  return operation == Operation::kGreater ? left > right : left >= right;
}

}  // namespace

Value calculate(const Value& left, const Value& right, Operation operation, const ConfigNode& source) {
  for (const Value* value : {&left, &right}) {
    if (!is_number(*value)) fail_in(source, "cannot calculate with " + to_text(*value));
  }
  const bool compared = operation >= Operation::kLess && operation <= Operation::kAtLeast;
  const auto* left_integer = std::get_if<std::int64_t>(&left);
  const auto* right_integer = std::get_if<std::int64_t>(&right);
  if (left_integer != nullptr && right_integer != nullptr) {
    if (compared) return compares(*left_integer, *right_integer, operation);
    return whole_result(*left_integer, *right_integer, operation, source);
  }
  if (compared) return compares(as_number(left), as_number(right), operation);
  return fractional_result(as_number(left), as_number(right), operation, source);
}

}  // namespace skyline::space
