#include "skyline/objective/objective_set.hpp"

#include "skyline/core/error.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace skyline::objective {
namespace {

/// The value of an objective or a constraint of a trial that succeeded.
template <typename Spec>
double value_of(const Spec& spec, const space::Cost& cost, const trial::Measurements& measurements) {
  if (spec.computed) return computed_metric(cost, spec.metric);
  require(spec.measured_index < measurements.values.size(), "a result has fewer values than metrics");
  return measurements.values[spec.measured_index];
}

bool within(const Constraint& constraint, double value) {
  return constraint.low <= value && value <= constraint.high;  // never true for NaN
}

template <typename Spec>
void add_measured(const std::vector<Spec>& specs, std::vector<std::string>& names) {
  for (const Spec& spec : specs) {
    if (spec.computed || std::find(names.begin(), names.end(), spec.metric) != names.end()) continue;
    names.push_back(spec.metric);
  }
}

}  // namespace

std::vector<std::string> computed_metric_names() {
  std::vector<std::string> names;
  names.reserve(space::kCosts.size());
  for (const space::NamedCost& metric : space::kCosts) names.emplace_back(metric.name);
  return names;
}

double computed_metric(const space::Cost& cost, std::string_view metric) {
  for (const space::NamedCost& known : space::kCosts) {
    if (known.name == metric) return static_cast<double>(cost.*known.value);
  }
  throw InternalError("`" + std::string(metric) + "` is not computed from the network");
}

std::string number_text(double value) {
  constexpr double kExactIntegers = 9007199254740992.0;  // 2^53
  if (std::abs(value) < kExactIntegers && value == std::trunc(value)) {
    return std::to_string(static_cast<std::int64_t>(value));
  }
  return space::to_text(space::Value(value));
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

bool ObjectiveSet::feasible(const space::Cost& cost) const {
  return std::all_of(constraints_.begin(), constraints_.end(), [&](const Constraint& constraint) {
    return !constraint.computed || within(constraint, computed_metric(cost, constraint.metric));
  });
}

std::optional<std::vector<double>> ObjectiveSet::values(const trial::CommittedTrial& committed) const {
  const auto* measurements = std::get_if<trial::Measurements>(&committed.outcome);
  if (measurements == nullptr) return std::nullopt;
  const space::Cost& cost = committed.trial.architecture().cost;
  for (const Constraint& constraint : constraints_) {
    if (!within(constraint, value_of(constraint, cost, *measurements))) return std::nullopt;
  }
  std::vector<double> values;
  for (const Objective& objective : objectives_) {
    values.push_back(value_of(objective, cost, *measurements));
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
