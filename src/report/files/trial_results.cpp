#include "report/files/trial_results.hpp"

#include <algorithm>
#include <cmath>

namespace skyline::report {
namespace {

template <typename Range>
bool uses_metric(const Range& range, std::string_view metric) {
  return std::any_of(range.begin(), range.end(), [&](const auto& entry) { return entry.metric == metric; });
}

}  // namespace

bool is_computed_metric(std::string_view metric) {
  const auto names = objective::computed_metric_names();
  return std::find(names.begin(), names.end(), metric) != names.end();
}

std::optional<double> metric_value(const trial::CommittedTrial& committed, std::string_view metric,
                                   const std::vector<std::string>& metrics) {
  if (is_computed_metric(metric)) {
    return objective::computed_metric(committed.trial.architecture().network, metric);
  }
  const auto* measured = std::get_if<trial::Measurements>(&committed.outcome);
  const auto place = std::find(metrics.begin(), metrics.end(), metric);
  if (measured == nullptr || place == metrics.end()) return std::nullopt;
  const auto index = static_cast<std::size_t>(place - metrics.begin());
  if (index >= measured->values.size() || std::isnan(measured->values[index])) return std::nullopt;
  return measured->values[index];
}

std::vector<std::string> constraint_only_metrics(const objective::ObjectiveSet& objectives) {
  std::vector<std::string> names;
  for (const auto& constraint : objectives.constraints()) {
    const bool listed = std::find(names.begin(), names.end(), constraint.metric) != names.end();
    if (!listed && !uses_metric(objectives.objectives(), constraint.metric))
      names.push_back(constraint.metric);
  }
  return names;
}

std::vector<std::string> other_computed_metrics(const objective::ObjectiveSet& objectives) {
  std::vector<std::string> names = objective::computed_metric_names();
  std::erase_if(names, [&](const std::string& name) {
    return uses_metric(objectives.objectives(), name) || uses_metric(objectives.constraints(), name);
  });
  return names;
}

const trial::Failure* failure_of(const trial::CommittedTrial& committed) {
  return std::get_if<trial::Failure>(&committed.outcome);
}

std::string status_of(const trial::CommittedTrial& committed) {
  const trial::Failure* failure = failure_of(committed);
  return failure == nullptr ? "ok" : std::string(trial::to_text(failure->kind));
}

std::vector<std::size_t> front_order(const ReportInputs& inputs) {
  struct Member {
    std::vector<double> minimized;
    std::size_t index;
    auto operator<=>(const Member&) const = default;
  };
  std::vector<Member> members;
  for (std::size_t i = 0; i < inputs.committed.size(); ++i) {
    const trial::CommittedTrial& committed = inputs.committed[i];
    if (!inputs.on_front[i] || committed.trial.is_final()) continue;
    if (auto values = inputs.objectives.minimized(committed)) members.push_back({std::move(*values), i});
  }
  std::sort(members.begin(), members.end(), [](const Member& a, const Member& b) { return (a <=> b) < 0; });
  std::vector<std::size_t> order;
  for (const Member& member : members) order.push_back(member.index);
  return order;
}

std::unordered_map<trial::TrialNumber, std::size_t> final_trials(const ReportInputs& inputs) {
  std::unordered_map<trial::TrialNumber, std::size_t> finals;
  for (std::size_t i = 0; i < inputs.committed.size(); ++i) {
    const trial::Trial& trial = inputs.committed[i].trial;
    if (trial.is_final()) finals[trial.number] = i;
  }
  return finals;
}

}  // namespace skyline::report
