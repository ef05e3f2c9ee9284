#include "report/tracking/run_metrics.hpp"

#include "report/files/trial_results.hpp"
#include "trial/refit.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace skyline::report {
namespace {

/// Returns the size of the largest front whose exact volume is computed at each change: for 3 objectives that
/// takes 10 ms of rank 0's time. pareto.json has the volume at the end.
std::size_t largest_front(std::size_t num_objectives) {
  if (num_objectives < 3) return std::numeric_limits<std::size_t>::max();
  return num_objectives == 3 ? 300 : 100;
}

using Values = std::vector<store::NamedValue>;

void add(Values& values, std::string name, double value) {
  if (std::isfinite(value)) values.push_back({std::move(name), value});
}

std::vector<std::string> metrics_shown(const objective::ObjectiveSet& objectives,
                                       const std::vector<trial::Metric>& metrics) {
  std::vector<std::string> names = trial::names_of(metrics);
  const auto add_name = [&](const std::string& name) {
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  };
  for (const auto& objective : objectives.objectives()) add_name(objective.metric);
  for (const auto& constraint : objectives.constraints()) add_name(constraint.metric);
  return names;
}

}  // namespace

TrackedTrial::TrackedTrial(const run::Commit& commit, const run::RunState& state, double the_unix_s)
    : trial(commit.trial),
      replayed(commit.replayed),
      unix_s(the_unix_s),
      front_size(state.front().size()),
      front(state.points()),
      best(state.best()),
      failed(state.failed()),
      pruned(state.pruned()),
      outside(state.outside()) {}

RunMetrics::RunMetrics(objective::ObjectiveSet objectives, std::vector<trial::Metric> metrics)
    : objectives_(std::move(objectives)),
      metrics_(std::move(metrics)),
      shown_(metrics_shown(objectives_, metrics_)) {}

store::MetricRecord RunMetrics::record(const TrackedTrial& tracked) {
  if (tracked.front != measured_) measure_volume(tracked);
  measured_ = tracked.front;
  store::MetricRecord record{tracked.trial->position, tracked.unix_s, own_values(*tracked.trial)};
  Values& values = record.values;
  add(values, "front/size", static_cast<double>(tracked.front_size));
  if (tracked.front_size > 0 && measurable(tracked)) add(values, "front/hypervolume", volume_);
  for (std::size_t i = 0; i < tracked.best.size(); ++i) {
    add(values, "best/" + objectives_.objectives()[i].metric, tracked.best[i]);
  }
  add(values, "run/failed_trials", static_cast<double>(tracked.failed));
  if (tracked.pruned > 0) add(values, "run/pruned_trials", static_cast<double>(tracked.pruned));
  if (tracked.outside > 0) add(values, "run/outside_trials", static_cast<double>(tracked.outside));
  return record;
}

Values RunMetrics::own_values(const trial::CommittedTrial& committed) const {
  Values values;
  const std::string group = trial::is_refit(committed.trial) ? "refit/"
                            : committed.trial.is_final()     ? "final/"
                                                             : "trial/";
  for (const std::string& metric : shown_) {
    if (failure_of(committed) != nullptr) break;
    if (const auto value = metric_value(committed, metric, metrics_)) add(values, group + metric, *value);
  }
  add(values, group + "epochs", committed.trial.budget().epochs);
  add(values, group + "seconds", committed.timing.total_s());
  add(values, group + "training_seconds", committed.timing.train_s);
  return values;
}

bool RunMetrics::measurable(const TrackedTrial& tracked) const {
  return objectives_.has_volume() && tracked.front_size <= largest_front(objectives_.objectives().size());
}

/// The volume of a growing front is never lowered, whatever rounding gives.
void RunMetrics::measure_volume(const TrackedTrial& tracked) {
  if (!measurable(tracked)) return;
  volume_ = std::max(volume_, run::volume_of(objectives_, *tracked.front).value());
}

}  // namespace skyline::report
