#include "skyline/core/error.hpp"

#include "core/config/config_text.hpp"
#include "core/text/foreign_text.hpp"
#include "space/expressions/expression.hpp"
#include "space/language/parsed_space.hpp"
#include "space/language/space_keys.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <map>
#include <numeric>
#include <string>

namespace skyline::space {
namespace {

constexpr std::int64_t kMostValues = 100'000;
constexpr std::size_t kMostValuesInAll = 1'000'000;  // bounds the memory
constexpr std::int64_t kLogValues = 100;             // values of a log range that states no number
constexpr double kLargest = 0x1p53;                  // whole numbers are exact up to here

/// Returns a message about a place of the configuration, as errors have it.
std::string warning_at(const ConfigNode& node, const std::string& message) {
  try {
    node.fail(message);
  } catch (const UserError& placed) {
    return placed.what();
  }
}

/// Refuses a value that tables and arguments cannot tell from an earlier one.
/// @param types  type of the earlier values, by their texts
void add_text(const Value& value, const ConfigNode& item, std::map<std::string, std::size_t>& types) {
  const bool is_zero = value == Value(0.0);  // -0.0 counts as 0
  std::vector<std::string> texts{is_zero ? "0.0" : to_text(value)};
  if (std::holds_alternative<Null>(value)) texts.emplace_back();  // in CSV
  for (const std::string& text : texts) {
    const auto [known, is_new] = types.emplace(text, value.index());
    if (is_new) continue;
    if (known->second == value.index())
      item.fail("the value " + shortened(to_text(value)) + " is given twice");
    item.fail((item.is_null() ? "null" : item.describe()) +
              " looks like another value in tables and arguments: give it another text");
  }
}

/// Notes a value that is equal to an earlier one as a number, and of another type.
/// @param numbers  texts of the earlier ones
void add_number(const Value& value, const ConfigNode& item, std::map<double, std::string>& numbers,
                std::string& warning) {
  if (!is_number(value) && !std::holds_alternative<bool>(value)) return;
  const double number = as_number(value);
  const auto [known, is_new] = numbers.emplace(number, to_text(value));
  if (is_new || !warning.empty() || std::abs(number) >= kLargest) return;
  warning = warning_at(item, known->second + " and " + to_text(value) +
                                 " are one number and two values, each of which is tried");
}

std::vector<Value> read_choice(const ConfigNode& list, std::string& warning) {
  if (!list.is_list() || list.items().empty()) list.fail_expected("a list of values");
  if (std::ssize(list.items()) > kMostValues) {
    list.fail("the choice has more than " + std::to_string(kMostValues) + " values");
  }
  std::vector<Value> values;
  std::map<std::string, std::size_t> types;
  std::map<double, std::string> numbers;
  for (const ConfigNode& item : list.items()) {
    values.push_back(item.is_null() ? Value(Null{}) : read_value(item));
    add_text(values.back(), item, types);
    add_number(values.back(), item, numbers, warning);
    if (warning.empty() && values.back() == Value("None") && !item.quoted())
      warning = warning_at(item, "None is a word here: no value is `null`, and a word stands in quotes");
  }
  return values;
}

/// The ends of a range, and the step between its values.
struct RangeEnds {
  double first = 0;
  double last = 0;
  bool whole = false;  // both ends, and the step if given, are whole numbers
  const ConfigNode* step = nullptr;
};

bool is_whole(const ConfigNode& node) {
  return node.is_scalar() && !node.quoted() && parse_integer(node.as_text()).has_value();
}

RangeEnds read_ends(const ParameterForm& form) {
  const ConfigNode& list = form.range;
  const bool right_length = list.is_list() && (list.items().size() == 2 || list.items().size() == 3);
  if (!right_length) list.fail_expected("[first, last] or [first, last, step]");
  RangeEnds ends{list.items()[0].as_number(), list.items()[1].as_number(),
                 is_whole(list.items()[0]) && is_whole(list.items()[1]),
                 form.step.is_null() ? nullptr : &form.step};
  if (list.items().size() == 3) {
    if (ends.step != nullptr) ends.step->fail("the range has a step already");
    ends.step = &list.items()[2];
  }
  if (!(std::abs(ends.first) < kLargest && std::abs(ends.last) < kLargest)) {
    list.fail_expected("numbers between -2^53 and 2^53");
  }
  if (ends.last < ends.first) {
    list.fail("the range is empty: " + list.items()[0].describe() + " is larger than " +
              list.items()[1].describe());
  }
  if (ends.step != nullptr && !form.count.is_null()) form.count.fail("the range has a step already");
  return ends;
}

double to_digits(double value, int digits) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.*g", digits, value);
  return std::strtod(text.data(), nullptr);
}

/// Rounds a number of a range to few digits, because people read and type them: to as many as it takes to be
/// right within a hundredth of the distance to its neighbours. Whole numbers stay whole and exact. No number
/// leaves the range.
Value rounded(double value, const RangeEnds& ends, double distance, int digits) {
  if (ends.whole) return static_cast<std::int64_t>(std::llround(value));
  constexpr int kAllDigits = 17;
  while (digits < kAllDigits && !(std::abs(to_digits(value, digits) - value) <= distance / 100)) ++digits;
  return std::clamp(to_digits(value, digits), ends.first, ends.last);
}

std::vector<Value> stepped(const ConfigNode& list, RangeEnds ends, std::string& warning) {
  const double step = ends.step == nullptr ? 1 : ends.step->as_number();
  if (!(step > 0) || !std::isfinite(step)) ends.step->fail_expected("a step above 0");
  ends.whole = ends.whole && (ends.step == nullptr || is_whole(*ends.step));
  const double steps = std::floor((ends.last - ends.first) / step + 1e-9);
  if (!(steps < kMostValues)) {
    list.fail("the range has more than " + std::to_string(kMostValues) + " values");
  }
  constexpr int kDigits = 12;  // 0.1 + 2 * 0.1 is 0.3
  std::vector<Value> values;
  for (int i = 0; i <= static_cast<int>(steps); ++i) {
    values.push_back(rounded(ends.first + i * step, ends, step, kDigits));
  }
  if (ends.last - ends.first - steps * step > 1e-9 * step) {
    warning = warning_at(list, "the values end at " + to_text(values.back()) + ", because a step of " +
                                   ends.step->describe() + " does not reach " + list.items()[1].describe());
  }
  return values;
}

/// Returns how many evenly spaced values of a range differ in their first four digits, at most 1,000.
std::int64_t told_apart(const RangeEnds& ends) {
  constexpr int kDigits = 4;
  constexpr double kMost = 1'000;
  if (ends.first == ends.last) return 2;  // both ends, which are one value
  const double largest = std::max(std::abs(ends.first), std::abs(ends.last));
  const double last_digit = std::pow(10, std::floor(std::log10(largest)) - kDigits + 1);
  return static_cast<std::int64_t>(
      std::clamp(std::floor((ends.last - ends.first) / last_digit + 1e-9) + 1, 2.0, kMost));
}

std::vector<Value> counted(const ConfigNode& list, const ParameterForm& form, const RangeEnds& ends) {
  const std::int64_t count = !form.count.is_null() ? form.count.as_integer()
                             : form.log            ? kLogValues
                                                   : told_apart(ends);
  if (count < 2 || count > kMostValues) {
    form.count.fail_expected("a whole number from 2 to " + std::to_string(kMostValues));
  }
  if (form.log && !(ends.first > 0)) list.items()[0].fail_expected("a number above 0 for a log range");
  std::vector<Value> values;
  for (std::int64_t i = 0; i < count; ++i) {
    const double steps = static_cast<double>(count - 1);
    const double share = static_cast<double>(i) / steps;
    const double value = form.log ? ends.first * std::pow(ends.last / ends.first, share)
                                  : ends.first + share * (ends.last - ends.first);
    const double distance = form.log ? value * (1 - std::pow(ends.first / ends.last, 1 / steps))
                                     : (ends.last - ends.first) / steps;
    constexpr int kDigits = 4;
    constexpr int kDigitsOfAnEnd = 12;
    const bool is_end = i == 0 || i == count - 1;
    const double exact = i == 0 ? ends.first : is_end ? ends.last : value;
    Value next = rounded(exact, ends, distance, is_end ? kDigitsOfAnEnd : kDigits);
    if (values.empty() || values.back() != next) values.push_back(std::move(next));
  }
  return values;
}

std::vector<Value> read_range(const ParameterForm& form, std::string& warning) {
  const RangeEnds ends = read_ends(form);
  if (form.log && ends.step != nullptr) ends.step->fail("a log range has a `count`, and no step");
  const bool is_fractions = ends.step == nullptr && !ends.whole;
  if (form.log || !form.count.is_null() || is_fractions) return counted(form.range, form, ends);
  return stepped(form.range, ends, warning);
}

Parameter read_parameter(const std::string& name, const ConfigNode& node, DeclaredParameter& declared) {
  check_name(name, "a parameter", node);
  if (!node.is_map()) node.fail_expected("{choice: [...]} or {range: [first, last]}");
  const ParameterForm form = parameter_keys().parse(node);
  const bool chosen = !form.choice.is_null();
  if (chosen == !form.range.is_null()) node.fail("expected either `choice` or `range`");
  if (chosen && !form.step.is_null()) form.step.fail("a step goes with `range` only");
  if (chosen && !form.count.is_null()) form.count.fail("a count goes with `range` only");
  if (chosen && form.log) node.fail("`log` goes with `range` only");
  Parameter parameter{
      name, chosen ? read_choice(form.choice, declared.warning) : read_range(form, declared.warning), {}};
  parameter.weights = read_weights(form.weights, parameter.values.size());
  declared.each = form.each;
  declared.when = form.when;
  return parameter;
}

}  // namespace

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
  // Only the ratios count. Weights whose sum is a number stay as they are, so that draws stay as they were.
  const double largest = *std::ranges::max_element(weights);
  if (!std::isfinite(std::accumulate(weights.begin(), weights.end(), 0.0))) {
    for (double& weight : weights) weight = std::max(weight / largest, std::numeric_limits<double>::min());
  }
  return weights;
}

std::vector<DeclaredParameter> read_parameters(const ConfigNode& section) {
  std::vector<DeclaredParameter> parameters;
  std::size_t values = 0;
  for (const ConfigNode::Entry& entry : section.entries()) {
    DeclaredParameter declared{{entry.key, {}, {}}, false, {}, entry.value, "", ""};
    try {
      declared.parameter = read_parameter(entry.key, entry.value, declared);
    } catch (const UserError& problem) {
      declared.problem = problem.what();
    }
    values += declared.parameter.values.size();
    if (values > kMostValuesInAll) {
      entry.value.fail("the parameters of the space have more than " + std::to_string(kMostValuesInAll) +
                       " values in all");
    }
    parameters.push_back(std::move(declared));
  }
  return parameters;
}

}  // namespace skyline::space
