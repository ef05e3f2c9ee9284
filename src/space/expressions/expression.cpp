#include "space/expressions/expression.hpp"

#include "core/text/foreign_text.hpp"
#include "space/expressions/arithmetic.hpp"

#include <algorithm>

namespace skyline::space {
namespace {

Value value_of(const ExpressionNode& node, const Bindings& bindings, const ConfigNode& source);

bool flag_of(const ExpressionNode& node, const Bindings& bindings, const ConfigNode& source) {
  const Value value = value_of(node, bindings, source);
  if (const auto* flag = std::get_if<bool>(&value)) return *flag;
  source.fail("in " + in_quotes(source.as_text()) + ": expected true or false, got " +
              shortened(to_text(value)));
}

Sides sides_of(const ExpressionNode& node, const Bindings& bindings, const ConfigNode& source) {
  Sides sides{};
  for (std::size_t i = 0; i < sides.size(); ++i) {
    const Value side = value_of(*node.operands[i], bindings, source);
    const auto* whole = std::get_if<std::int64_t>(&side);
    if (whole == nullptr) {
      source.fail("in " + in_quotes(source.as_text()) + ": expected whole numbers, got " +
                  shortened(to_text(side)));
    }
    sides[i] = *whole;
  }
  return sides;
}

/// Evaluates only the operands on which the result depends; parameters in the others do not count as used.
Value logical_value(const ExpressionNode& node, const Bindings& bindings, const ConfigNode& source) {
  const bool first = flag_of(*node.operands[0], bindings, source);
  switch (node.operation) {
    case Operation::kNot:
      return !first;
    case Operation::kAnd:
      return first && flag_of(*node.operands[1], bindings, source);
    case Operation::kOr:
      return first || flag_of(*node.operands[1], bindings, source);
    default:
      return value_of(*node.operands[first ? 1 : 2], bindings, source);
  }
}

Value value_of(const ExpressionNode& node, const Bindings& bindings, const ConfigNode& source) {
  switch (node.operation) {
    case Operation::kConstant:
      return node.constant;
    case Operation::kClasses:
      return bindings.classes;
    case Operation::kCost:
      return bindings.cost->*kCosts[node.parameter].value;
    case Operation::kSides:
      return sides_of(node, bindings, source);
    case Operation::kParameter:
      bindings.used[node.parameter] = true;
      return bindings.parameters[node.parameter].values[bindings.genotype.choices[node.parameter]];
    case Operation::kNegate:
      return calculate(std::int64_t{0}, value_of(*node.operands[0], bindings, source), Operation::kSubtract,
                       source);
    case Operation::kAbs: {
      const Value value = value_of(*node.operands[0], bindings, source);
      return calculate(value, calculate(std::int64_t{0}, value, Operation::kSubtract, source),
                       Operation::kMax, source);
    }
    case Operation::kIn: {
      const Value value = value_of(*node.operands[0], bindings, source);
      return std::any_of(node.operands.begin() + 1, node.operands.end(), [&](const ExpressionPart& item) {
        return equal_values(value, value_of(*item, bindings, source));
      });
    }
    case Operation::kAnd:
    case Operation::kOr:
    case Operation::kNot:
    case Operation::kIf:
      return logical_value(node, bindings, source);
    default:
      break;
  }
  const Value left = value_of(*node.operands[0], bindings, source);
  const Value right = value_of(*node.operands[1], bindings, source);
  if (node.operation == Operation::kEqual) return equal_values(left, right);
  if (node.operation == Operation::kUnequal) return !equal_values(left, right);
  return calculate(left, right, node.operation, source);
}

void collect(const ExpressionNode& node, std::vector<std::size_t>& parameters) {
  if (node.operation == Operation::kParameter) parameters.push_back(node.parameter);
  for (const ExpressionPart& operand : node.operands) collect(*operand, parameters);
}

}  // namespace

Expression::Expression(ExpressionPart root, ConfigNode source)
    : root_(std::move(root)), source_(std::move(source)) {
  collect(*root_, parameters_);
  std::sort(parameters_.begin(), parameters_.end());
  parameters_.erase(std::unique(parameters_.begin(), parameters_.end()), parameters_.end());
}

Value Expression::evaluate(const Bindings& bindings) const {
  return value_of(*root_, bindings, source_);
}

bool Expression::holds(const Bindings& bindings) const {
  return flag_of(*root_, bindings, source_);
}

std::string Expression::describe(const Value& value) const {
  const std::string written = source_.describe();
  const std::string read = shortened(to_text(value));
  return written == read ? written : read + " from `" + written + "`";
}

bool is_number(const Value& value) {
  return std::holds_alternative<std::int64_t>(value) || std::holds_alternative<double>(value);
}

bool reads_classes(const ExpressionNode& node) {
  return node.operation == Operation::kClasses ||
         std::ranges::any_of(node.operands, [](const ExpressionPart& part) { return reads_classes(*part); });
}

bool equal_values(const Value& left, const Value& right) {
  if (is_number(left) && is_number(right)) return as_number(left) == as_number(right);
  return left == right;
}

ExpressionPart constant_part(Value value) {
  auto node = std::make_shared<ExpressionNode>();
  node->constant = std::move(value);
  return node;
}

ExpressionPart parameter_part(std::size_t parameter) {
  auto node = std::make_shared<ExpressionNode>();
  node->operation = Operation::kParameter;
  node->parameter = parameter;
  return node;
}

ExpressionPart cost_part(std::size_t cost) {
  auto node = std::make_shared<ExpressionNode>();
  node->operation = Operation::kCost;
  node->parameter = cost;
  return node;
}

std::string values_text(const std::vector<Parameter>& parameters, const std::vector<std::size_t>& named,
                        const Genotype& genotype) {
  std::string text;
  for (const std::size_t index : named) {
    const Parameter& parameter = parameters[index];
    text += (text.empty() ? ", for " : " ") + shortened(parameter.name) + '=' +
            shortened(to_text(parameter.values[genotype.choices[index]]));
  }
  return text;
}

std::size_t parameter_name_length(std::string_view text) {
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
  if (text.empty() || (text.front() >= '0' && text.front() <= '9')) return 0;
  return std::min(text.find_first_not_of(kLetters), text.size());
}

bool is_parameter_name(std::string_view text) {
  return !text.empty() && parameter_name_length(text) == text.size();
}

void check_name(const std::string& name, const std::string& noun, const ConfigNode& node) {
  if (!is_parameter_name(name)) {
    node.fail(noun + "'s name is made of letters, digits and `_`, and starts with no digit");
  }
  if (name == "classes") node.fail("`$classes` is the data's number of classes; choose another name");
}

}  // namespace skyline::space
