#include "report/tracking/run_metrics.hpp"

#include "report/files/trial_results.hpp"
#include "report/text/reference_point.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace skyline::report {
namespace {

/// The largest front whose exact volume is worth its time, measured at each change: 10 ms of rank 0's cores
/// for 3 objectives. pareto.json has it at the end.
std::size_t largest_front(std::size_t num_objectives) {
  if (num_objectives < 3) return std::numeric_limits<std::size_t>::max();
  return num_objectives == 3 ? 300 : 100;
}

void add(store::MetricRecord& record, std::string name, double value) {
  if (std::isfinite(value)) record.values.push_back({std::move(name), value});
}

std::vector<std::string> metrics_shown(const objective::ObjectiveSet& objectives,
                                       const std::vector<std::string>& metrics) {
  std::vector<std::string> names = metrics;
  const auto add_name = [&](const std::string& name) {
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  };
  for (const auto& objective : objectives.objectives()) add_name(objective.metric);
  for (const auto& constraint : objectives.constraints()) add_name(constraint.metric);
  return names;
}

}  // namespace

RunMetrics::RunMetrics(objective::ObjectiveSet objectives, std::vector<std::string> metrics)
    : objectives_(std::move(objectives)),
      metrics_(std::move(metrics)),
      shown_(metrics_shown(objectives_, metrics_)),
      front_(objectives_.objectives().size()) {}

store::MetricRecord RunMetrics::next(const trial::CommittedTrial& committed, double unix_s) {
  keep(committed);
  if (!volume_holds_) volume_ = measured_volume();
  volume_holds_ = true;
  store::MetricRecord record{committed.position, unix_s, {}};
  add_own(committed, record);
  add(record, "front/size", static_cast<double>(front_.size()));
  if (front_.size() > 0) add(record, "front/hypervolume", volume_);
  for (std::size_t i = 0; i < best_.size(); ++i) {
    add(record, "best/" + objectives_.objectives()[i].metric, best_[i]);
  }
  add(record, "run/failed_trials", static_cast<double>(failed_));
  return record;
}

void RunMetrics::add_own(const trial::CommittedTrial& committed, store::MetricRecord& record) const {
  const std::string group = committed.trial.is_final() ? "final/" : "trial/";
  for (const std::string& metric : shown_) {
    if (failure_of(committed) != nullptr) break;
    if (const auto value = metric_value(committed, metric, metrics_)) add(record, group + metric, *value);
  }
  add(record, group + "epochs", committed.trial.budget().epochs);
  add(record, group + "seconds", committed.timing.total_s());
  add(record, group + "training_seconds", committed.timing.train_s);
}

void RunMetrics::keep(const trial::CommittedTrial& committed) {
  architectures_.push_back(committed.trial.architecture().id);
  if (failure_of(committed) != nullptr) ++failed_;
  if (committed.trial.is_final()) return;
  const auto values = objectives_.values(committed);
  if (!values) return;
  const auto& objectives = objectives_.objectives();
  const std::vector<double> worst_before = worst_;
  keep_worst(objectives, *values, worst_);
  if (best_.empty()) best_ = *values;
  for (std::size_t i = 0; i < best_.size(); ++i) {
    const bool minimized = objectives[i].sense == objective::Sense::kMinimize;
    best_[i] = minimized ? std::min(best_[i], (*values)[i]) : std::max(best_[i], (*values)[i]);
  }
  const bool grew = front_.insert(committed.position, objectives_.minimized(committed).value());
  if (grew || worst_ != worst_before) volume_holds_ = false;
}

double RunMetrics::measured_volume() const {
  const auto& objectives = objectives_.objectives();
  if (front_.size() > largest_front(objectives.size())) return std::numeric_limits<double>::quiet_NaN();
  std::vector<double> points;
  for (std::size_t i = 0; i < front_.size(); ++i) {
    const auto values = front_.values_of(i);
    points.insert(points.end(), values.begin(), values.end());
  }
  return dominated_volume(objectives, points, volume_reference(objectives, worst_));
}

std::vector<std::string> RunMetrics::front() const {
  std::vector<std::string> ids;
  for (const std::size_t number : front_.keys()) ids.push_back(space::to_text(architectures_[number]));
  return ids;
}

}  // namespace skyline::report
