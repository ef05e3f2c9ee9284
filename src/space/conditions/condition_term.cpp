#include "space/conditions/condition_term.hpp"

#include "core/text/foreign_text.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace skyline::space {
namespace {

using OperandKind = ConditionValues::Kind;

constexpr double kExact = 0x1p53;  // whole numbers below are exact as doubles

Operand operand_of(const Value& value) {
  if (const auto* word = std::get_if<std::string>(&value)) return word;
  if (const auto* flag = std::get_if<bool>(&value)) return *flag;
  if (std::holds_alternative<Null>(value)) return Null{};
  if (const auto* sides = std::get_if<Sides>(&value)) return *sides;
  return number_of(value);
}

unsigned kind_of(const Value& value) {
  if (std::holds_alternative<std::string>(value)) return OperandKind::kWord;
  if (std::holds_alternative<bool>(value)) return OperandKind::kFlag;
  if (std::holds_alternative<Null>(value)) return OperandKind::kNull;
  if (std::holds_alternative<Sides>(value)) return OperandKind::kSides;
  return std::isfinite(as_number(value)) ? OperandKind::kNumber
                                         : OperandKind::kNumber | OperandKind::kInfinite;
}

bool is_exact(const Value& value) {
  return !std::holds_alternative<std::int64_t>(value) || std::abs(as_number(value)) < kExact;
}

bool is_comparison(Operation operation) {
  return operation >= Operation::kEqual && operation <= Operation::kAtLeast;
}

bool is_calculation(Operation operation) {
  return operation >= Operation::kNegate && operation <= Operation::kAbs;
}

bool is_division(Operation operation) {
  return operation == Operation::kDivide || operation == Operation::kDivideWhole ||
         operation == Operation::kRemainder;
}

bool equal_operands(const Operand& left, const Operand& right) {
  if (left.index() != right.index()) return false;
  if (const auto* number = std::get_if<Number>(&left)) return compare(*number, std::get<Number>(right)) == 0;
  if (const auto* word = std::get_if<const std::string*>(&left)) {
    return **word == *std::get<const std::string*>(right);
  }
  if (const auto* sides = std::get_if<Sides>(&left)) return *sides == std::get<Sides>(right);
  return std::holds_alternative<Null>(left) || std::get<bool>(left) == std::get<bool>(right);
}

bool in_order(std::weak_ordering order, Operation operation) {
  if (operation == Operation::kLess) return order < 0;
  if (operation == Operation::kAtMost) return order <= 0;
  return operation == Operation::kGreater ? order > 0 : order >= 0;
}

std::string text_of(const Number& number) {
  constexpr double kMostDigits = 308;  // a double may be infinite or 0 instead of what has more
  const double magnitude = magnitude_of(number);
  if (!std::isfinite(magnitude) || std::abs(magnitude) < kMostDigits) return to_text(value_of(number));
  const std::string sign = compare(number, Fraction{}) < 0 ? "-" : "";
  return "about " + sign + "10^" + std::to_string(std::lround(magnitude));
}

std::string text_of(const Operand& operand) {
  if (const auto* number = std::get_if<Number>(&operand)) return text_of(*number);
  if (const auto* word = std::get_if<const std::string*>(&operand)) return shortened(**word);
  if (std::holds_alternative<Null>(operand)) return "null";
  if (const auto* sides = std::get_if<Sides>(&operand)) return to_text(*sides);
  return std::get<bool>(operand) ? "true" : "false";
}

/// Returns what cannot be calculated, as it would be written.
std::string text_of(Operation operation, const std::vector<Operand>& operands) {
  constexpr std::array kSigns{std::pair{Operation::kAdd, "+"},       std::pair{Operation::kSubtract, "-"},
                              std::pair{Operation::kMultiply, "*"},  std::pair{Operation::kDivide, "/"},
                              std::pair{Operation::kRemainder, "%"}, std::pair{Operation::kDivideWhole, "//"},
                              std::pair{Operation::kPower, "**"},    std::pair{Operation::kLess, "<"},
                              std::pair{Operation::kAtMost, "<="},   std::pair{Operation::kGreater, ">"},
                              std::pair{Operation::kAtLeast, ">="}};
  if (operation == Operation::kNegate) return "-" + text_of(operands[0]);
  if (operation == Operation::kNot) return "not " + text_of(operands[0]);
  for (const auto& [known, sign] : kSigns) {
    if (known != operation) continue;
    const std::string right = text_of(operands[1]);
    return text_of(operands[0]) + " " + sign + " " + (right.starts_with('-') ? "(" + right + ")" : right);
  }
  const std::string name = operation == Operation::kMin   ? "min"
                           : operation == Operation::kMax ? "max"
                           : operation == Operation::kAbs ? "abs"
                           : operation == Operation::kIf  ? "if"
                           : operation == Operation::kAnd ? "and"
                                                          : "or";
  std::string inner;
  for (const Operand& operand : operands) inner += (inner.empty() ? "" : ", ") + text_of(operand);
  return name + "(" + inner + ")";
}

Operand failed(Operation operation, const std::vector<Operand>& operands, std::string* why) {
  if (why != nullptr && why->empty()) *why = text_of(operation, operands);
  return {};
}

Operand of_numbers(Operation operation, const Operand& left, const Operand& right, std::string* why) {
  const auto* left_number = std::get_if<Number>(&left);
  const auto* right_number = std::get_if<Number>(&right);
  if (left_number != nullptr && right_number != nullptr) {
    if (is_comparison(operation)) return in_order(compare(*left_number, *right_number), operation);
    if (auto result = calculate(*left_number, *right_number, operation)) return *result;
  }
  return failed(operation, {left, right}, why);
}

bool is_missing(const Operand& operand) {
  return std::holds_alternative<std::monostate>(operand);
}

}  // namespace

ConditionValues::ConditionValues(const std::vector<Parameter>& parameters)
    : parameters_(parameters),
      kinds_(parameters.size()),
      numbers_(parameters.size()),
      operands_(parameters.size()) {}

void ConditionValues::add(std::size_t parameter) {
  if (kinds_[parameter] != 0) return;
  const std::vector<Value>& values = parameters_[parameter].values;
  for (const Value& value : values) kinds_[parameter] |= kind_of(value);
  const bool are_numbers = (kinds_[parameter] & ~(kNumber | kInfinite)) == 0;
  if (!are_numbers || !std::ranges::all_of(values, is_exact)) return;
  for (const Value& value : values) numbers_[parameter].push_back(as_number(value));
}

void ConditionValues::add_operands(std::size_t parameter) {
  if (!operands_[parameter].empty()) return;
  for (const Value& value : parameters_[parameter].values) operands_[parameter].push_back(operand_of(value));
}

ConditionTerm::ConditionTerm(const ExpressionNode& node, const ConditionValues& values, std::int64_t classes,
                             const ConfigNode& source)
    : operation_(node.operation), parameter_(node.parameter) {
  switch (operation_) {
    case Operation::kParameter:
      kinds_ = values.kinds(parameter_);
      is_arithmetic_ = values.numbers(parameter_).empty() && (kinds_ & OperandKind::kNumber) != 0;
      break;
    case Operation::kCost:
      kinds_ = OperandKind::kNumber;
      is_arithmetic_ = true;
      break;
    case Operation::kClasses:
      operation_ = Operation::kConstant;
      constant_ = number_of(classes);
      kinds_ = OperandKind::kNumber;
      break;
    case Operation::kConstant:
      constant_ = operand_of(node.constant);
      kinds_ = kind_of(node.constant);
      is_arithmetic_ = (kinds_ & OperandKind::kNumber) != 0 && !is_exact(node.constant);
      break;
    default:
      for (const ExpressionPart& operand : node.operands) {
        operands_.emplace_back(*operand, values, classes, source);
      }
      examine(source);
  }
  const auto is_constant = [](const ConditionTerm& operand) {
    return operand.operation_ == Operation::kConstant;
  };
  if (operands_.empty() || !std::ranges::all_of(operands_, is_constant)) return;
  std::string why;
  std::vector<bool> used;
  const Genotype none;
  const std::vector<Parameter> no_parameters;
  Operand result = calculate({no_parameters, none, classes, used}, values, &why);
  if (is_missing(result)) {
    source.fail("in " + in_quotes(source.as_text()) + ": cannot calculate " + why);
  }
  may_fail_ = false;
  if (!std::holds_alternative<Number>(result)) return;
  constexpr double kDigitsOfADouble = 324;
  const double digits = std::abs(magnitude_of(std::get<Number>(result)));
  kinds_ = std::isfinite(digits) ? OperandKind::kNumber : OperandKind::kNumber | OperandKind::kInfinite;
  factors_ = std::isfinite(digits) ? std::max(1.0, digits / kDigitsOfADouble) : 1;
  operation_ = Operation::kConstant;
  constant_ = result;
  operands_.clear();
}

/// Finds out what the term may be and whether it may fail. Refuses operands that are never of the right kind.
void ConditionTerm::examine(const ConfigNode& source) {
  const bool wants_numbers =
      is_calculation(operation_) || (is_comparison(operation_) && operation_ > Operation::kUnequal);
  const bool wants_flags = operation_ == Operation::kAnd || operation_ == Operation::kOr ||
                           operation_ == Operation::kNot || operation_ == Operation::kIf;
  for (std::size_t i = 0; i < operands_.size(); ++i) {
    const ConditionTerm& operand = operands_[i];
    may_fail_ = may_fail_ || operand.may_fail_;
    is_arithmetic_ = is_arithmetic_ || operand.is_arithmetic_;
    const bool adds_factors = operation_ == Operation::kMultiply || operation_ == Operation::kDivide;
    factors_ = adds_factors && i > 0 ? factors_ + operand.factors_ : std::max(factors_, operand.factors_);
    const bool is_free = !wants_numbers && (!wants_flags || (operation_ == Operation::kIf && i > 0));
    if (is_free) continue;
    const unsigned wanted = wants_numbers ? OperandKind::kNumber : OperandKind::kFlag;
    if ((operand.kinds_ & wanted) == 0) {
      source.fail("in " + in_quotes(source.as_text()) + ": " +
                  (wants_numbers ? "cannot calculate with what is no number"
                                 : "`and`, `or`, `not` and `if` take conditions, for example $w2 >= $w1"));
    }
    const bool is_sure =
        operand.kinds_ == wanted ||
        (is_comparison(operation_) && operand.kinds_ == (OperandKind::kNumber | OperandKind::kInfinite));
    may_fail_ = may_fail_ || !is_sure;
  }
  if (operation_ == Operation::kIf) {
    kinds_ = operands_[1].kinds_ | operands_[2].kinds_;
  } else if (is_calculation(operation_)) {
    kinds_ = OperandKind::kNumber;
    is_arithmetic_ = true;
  } else {
    kinds_ = OperandKind::kFlag;
  }
  // A product of so many doubles, or of differences of such, stays between 10^-4932 and 10^4932.
  constexpr double kMostFactors = 14;
  const bool divides = is_division(operation_);
  const bool by_constant = divides && operands_[1].operation_ == Operation::kConstant;
  if (by_constant && compare(std::get<Number>(operands_[1].constant_), Fraction{}) == 0) {
    source.fail("in " + in_quotes(source.as_text()) + ": division by zero");
  }
  may_fail_ = may_fail_ || (divides && !(by_constant && operation_ == Operation::kDivide)) ||
              operation_ == Operation::kPower || factors_ > kMostFactors;
}

/// Calculates only the operands on which the result depends; parameters in the others do not count as used.
Operand ConditionTerm::logical(const Bindings& bindings, const ConditionValues& values,
                               std::string* why) const {
  const Operand first = operands_[0].calculate(bindings, values, why);
  if (is_missing(first)) return first;
  const bool* flag = std::get_if<bool>(&first);
  if (flag == nullptr) return failed(operation_, {first}, why);
  if (operation_ == Operation::kNot) return !*flag;
  if (operation_ == Operation::kIf) return operands_[*flag ? 1 : 2].calculate(bindings, values, why);
  if (*flag == (operation_ == Operation::kOr)) return *flag;
  const Operand second = operands_[1].calculate(bindings, values, why);
  const bool is_wrong = !is_missing(second) && !std::holds_alternative<bool>(second);
  return is_wrong ? failed(operation_, {first, second}, why) : second;
}

Operand ConditionTerm::calculate(const Bindings& bindings, const ConditionValues& values,
                                 std::string* why) const {
  switch (operation_) {
    case Operation::kConstant:
      return constant_;
    case Operation::kParameter:
      if (bindings.in_use != nullptr && !(*bindings.in_use)[parameter_]) return {};
      bindings.used[parameter_] = true;
      return values.operand(parameter_, bindings.genotype.choices[parameter_]);
    case Operation::kCost:
      return Number(Fraction{bindings.cost->*kCosts[parameter_].value, 1});
    case Operation::kAnd:
    case Operation::kOr:
    case Operation::kNot:
    case Operation::kIf:
      return logical(bindings, values, why);
    default:
      break;
  }
  const Operand left = operands_[0].calculate(bindings, values, why);
  if (is_missing(left)) return left;
  if (operation_ == Operation::kNegate || operation_ == Operation::kAbs) {
    const auto* number = std::get_if<Number>(&left);
    if (number == nullptr) return failed(operation_, {left}, why);
    const bool changes = operation_ == Operation::kNegate || compare(*number, Fraction{}) < 0;
    return changes ? negative(*number) : *number;
  }
  for (std::size_t i = 1; operation_ == Operation::kIn && i < operands_.size(); ++i) {
    const Operand item = operands_[i].calculate(bindings, values, why);
    if (is_missing(item)) return item;
    if (equal_operands(left, item)) return true;
  }
  if (operation_ == Operation::kIn) return false;
  const Operand right = operands_[1].calculate(bindings, values, why);
  if (is_missing(right)) return right;
  if (operation_ == Operation::kEqual) return equal_operands(left, right);
  if (operation_ == Operation::kUnequal) return !equal_operands(left, right);
  return of_numbers(operation_, left, right, why);
}

double ConditionTerm::violation(const Bindings& bindings, const ConditionValues& values) const {
  constexpr double kCannotBeCalculated = 100;
  if (operation_ == Operation::kAnd) {
    return operands_[0].violation(bindings, values) + operands_[1].violation(bindings, values);
  }
  if (operation_ == Operation::kOr) {
    return std::min(operands_[0].violation(bindings, values), operands_[1].violation(bindings, values));
  }
  const Operand result = calculate(bindings, values);
  const bool* flag = std::get_if<bool>(&result);
  if (flag == nullptr) return kCannotBeCalculated;
  if (*flag) return 0;
  if (!is_comparison(operation_) || operation_ == Operation::kUnequal) return 1;
  const Operand left = operands_[0].calculate(bindings, values);
  const Operand right = operands_[1].calculate(bindings, values);
  const bool are_numbers = std::holds_alternative<Number>(left) && std::holds_alternative<Number>(right);
  if (!are_numbers) return 1;
  return 1 + std::log1p(std::abs(as_number(value_of(std::get<Number>(left))) -
                                 as_number(value_of(std::get<Number>(right)))));
}

}  // namespace skyline::space
