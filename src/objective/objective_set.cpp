#include "skyline/objective/objective_set.hpp"

#include "skyline/core/error.hpp"
#include "skyline/space/search_space.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace skyline::objective {
namespace {

/// Returns the value of an objective or a constraint for a trial that succeeded; NaN for a metric that an
/// expression gives if the architecture is that of a program with other layers.
template <typename Spec>
double value_of(const Spec& spec, const space::Architecture& architecture,
                const trial::Measurements& measurements) {
  if (spec.computed) return find_computed(architecture, spec.metric).value_or(std::nan(""));
  require(spec.measured_index < measurements.values.size(), "a result has fewer values than metrics");
  return measurements.values[spec.measured_index];
}

bool within(const Constraint& constraint, double value) {
  return constraint.low <= value && value <= constraint.high;  // false for NaN
}

template <typename Spec>
void add_measured(const std::vector<Spec>& specs, std::vector<std::string>& names) {
  for (const Spec& spec : specs) {
    if (spec.computed || std::find(names.begin(), names.end(), spec.metric) != names.end()) continue;
    names.push_back(spec.metric);
  }
}

}  // namespace

const std::vector<trial::Metric>& cost_metrics() {
  static const std::vector<trial::Metric> metrics = [] {
    std::vector<trial::Metric> all;
    for (const space::NamedCost& cost : space::kCosts) {
      all.push_back({.name = cost.name,
                     .better = trial::Better::kLower,
                     .range = {.low = 0},
                     .unit = cost.unit,
                     .computed = true});
    }
    return all;
  }();
  return metrics;
}

std::vector<std::string> cost_metric_names() {
  return trial::names_of(cost_metrics());
}

bool is_int8_cost(std::string_view metric) {
  return std::ranges::find(space::kCosts.begin() + space::kFloatCosts, space::kCosts.end(), metric,
                           &space::NamedCost::name) != space::kCosts.end();
}

std::optional<double> find_computed(const space::Architecture& architecture, std::string_view metric) {
  if (const std::optional<double> given = architecture.given(metric)) return given;
  if (!architecture.has_network()) return std::nullopt;
  const auto known = std::ranges::find(space::kCosts, metric, &space::NamedCost::name);
  const bool asked = !is_int8_cost(metric) || architecture.cost.int8_peak_activation_bytes > 0;
  if (known == space::kCosts.end() || !asked) return std::nullopt;
  return static_cast<double>(architecture.cost.*known->value);
}

double computed_metric(const space::Architecture& architecture, std::string_view metric) {
  const std::optional<double> value = find_computed(architecture, metric);
  if (!value) throw InternalError("`" + std::string(metric) + "` is not computed");
  return *value;
}

std::string number_text(double value) {
  constexpr double kExactIntegers = 9007199254740992.0;  // 2^53
  if (std::abs(value) < kExactIntegers && value == std::trunc(value)) {
    return std::to_string(static_cast<std::int64_t>(value));
  }
  return space::to_text(space::Value(value));
}

std::string to_text(const trial::MetricRange& range) {
  if (std::isinf(range.low) && std::isinf(range.high)) return "a number";
  if (std::isinf(range.high)) return "a number of at least " + number_text(range.low);
  if (std::isinf(range.low)) return "a number of at most " + number_text(range.high);
  return "a number from " + number_text(range.low) + " to " + number_text(range.high);
}

std::string to_text(const Constraint& constraint) {
  return constraint.metric + ": [" + number_text(constraint.low) + ", " + number_text(constraint.high) + "]";
}

std::vector<std::string> ObjectiveSet::measured_needed() const {
  std::vector<std::string> names;
  add_measured(objectives_, names);
  add_measured(constraints_, names);
  return names;
}

bool ObjectiveSet::feasible(const space::Architecture& architecture) const {
  return std::all_of(constraints_.begin(), constraints_.end(), [&](const Constraint& constraint) {
    if (!constraint.computed) return true;
    const std::optional<double> value = find_computed(architecture, constraint.metric);
    return !value || within(constraint, *value);
  });
}

std::optional<std::vector<double>> ObjectiveSet::values(const trial::CommittedTrial& committed) const {
  const auto* measurements = std::get_if<trial::Measurements>(&committed.outcome);
  if (measurements == nullptr || !trial::is_whole(committed.outcome)) return std::nullopt;
  const space::Architecture& architecture = committed.trial.architecture();
  for (const Constraint& constraint : constraints_) {
    if (!within(constraint, value_of(constraint, architecture, *measurements))) return std::nullopt;
  }
  std::vector<double> values;
  for (const Objective& objective : objectives_) {
    values.push_back(value_of(objective, architecture, *measurements));
    if (std::isnan(values.back())) return std::nullopt;
  }
  return values;
}

std::optional<std::vector<double>> ObjectiveSet::minimized(const trial::CommittedTrial& committed) const {
  std::optional<std::vector<double>> result = values(committed);
  if (!result) return result;
  for (std::size_t i = 0; i < objectives_.size(); ++i) {
    if (objectives_[i].sense == Sense::kMaximize) (*result)[i] = -(*result)[i];
  }
  return result;
}

}  // namespace skyline::objective
