#include "space/language/expression.hpp"
#include "space/language/parsed_space.hpp"
#include "space/language/space_keys.hpp"

#include <algorithm>
#include <cmath>

namespace skyline::space {
namespace {

constexpr std::int64_t kMostValues = 100'000;

std::vector<Value> read_choice(const ConfigNode& list) {
  if (!list.is_list() || list.items().empty()) list.fail_expected("a list of values");
  std::vector<Value> values;
  for (const ConfigNode& item : list.items()) {
    Value value = read_value(item);
    const bool seen = std::any_of(values.begin(), values.end(), [&](const Value& other) {
      return to_text(other) == to_text(value) || other == value;
    });
    if (seen) item.fail("the value " + to_text(value) + " is given twice");
    values.push_back(std::move(value));
  }
  return values;
}

std::vector<Value> read_range(const ParameterForm& form) {
  const ConfigNode& list = form.range;
  const ConfigNode* step_node = form.step.is_null() ? nullptr : &form.step;
  const bool right_length = list.is_list() && (list.items().size() == 2 || list.items().size() == 3);
  if (!right_length) list.fail_expected("[first, last] or [first, last, step]");
  const std::int64_t first = list.items()[0].as_integer();
  const std::int64_t last = list.items()[1].as_integer();
  if (list.items().size() == 3) {
    if (step_node != nullptr) step_node->fail("the range has a step already");
    step_node = &list.items()[2];
  }
  const std::int64_t step = step_node == nullptr ? 1 : step_node->as_integer();
  if (step < 1) step_node->fail_expected("a step of at least 1");
  if (last < first) {
    list.fail("the range is empty: " + std::to_string(first) + " is larger than " + std::to_string(last));
  }
  std::int64_t distance = 0;
  const bool overflow = __builtin_sub_overflow(last, first, &distance);
  if (overflow || distance / step >= kMostValues) {
    list.fail("the range has more than " + std::to_string(kMostValues) + " values");
  }
  std::vector<Value> values;
  for (std::int64_t i = 0; i <= distance / step; ++i) values.emplace_back(first + i * step);
  return values;
}

std::vector<double> read_weights(const ConfigNode& list, std::size_t values) {
  if (list.is_null()) return std::vector<double>(values, 1.0);
  if (!list.is_list() || list.items().size() != values) {
    list.fail_expected("a list of " + std::to_string(values) + " weights, one for each value");
  }
  std::vector<double> weights;
  for (const ConfigNode& item : list.items()) {
    const double weight = item.as_number();
    if (!(weight > 0) || !std::isfinite(weight)) item.fail_expected("a weight above 0");
    weights.push_back(weight);
  }
  return weights;
}

Parameter read_parameter(const std::string& name, const ConfigNode& node) {
  if (!is_parameter_name(name)) {
    node.fail("a parameter's name is made of letters, digits and `_`, and starts with no digit");
  }
  if (name == "classes") node.fail("`$classes` is the data's number of classes; choose another name");
  if (!node.is_map()) node.fail_expected("{choice: [...]} or {range: [first, last]}");
  const ParameterForm form = parameter_keys().parse(node);
  const bool chosen = !form.choice.is_null();
  if (chosen == !form.range.is_null()) node.fail("expected either `choice` or `range`");
  if (chosen && !form.step.is_null()) form.step.fail("a step goes with `range` only");
  Parameter parameter{name, chosen ? read_choice(form.choice) : read_range(form), {}};
  parameter.weights = read_weights(form.weights, parameter.values.size());
  return parameter;
}

}  // namespace

std::vector<Parameter> read_parameters(const ConfigNode& section) {
  std::vector<Parameter> parameters;
  for (const ConfigNode::Entry& entry : section.entries()) {
    for (const Parameter& other : parameters) {
      if (other.name == entry.key) entry.value.fail("the parameter is given twice");
    }
    parameters.push_back(read_parameter(entry.key, entry.value));
  }
  return parameters;
}

}  // namespace skyline::space
