// Texts about empty fronts, and about the volumes of fronts.
#include "core/text/wording.hpp"
#include "report/files/trial_results.hpp"
#include "report/text/front_table.hpp"
#include "report/text/text_table.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace skyline::report {
namespace {

using Trials = std::vector<run::SharedTrial>;

Trials trials_of(const run::RunState& state, trial::Phase phase) {
  Trials trials;
  for (const run::SharedTrial& committed : state.trials()) {
    if (committed->trial.phase() != phase) continue;
    if (phase == trial::Phase::kFinal && committed->trial.budget() != state.final_budget()) continue;
    trials.push_back(committed);
  }
  return trials;
}

/// Returns whether the trial succeeded and has a value for each objective.
bool has_objectives(const ReportInputs& inputs, const trial::CommittedTrial& committed) {
  if (failure_of(committed) != nullptr) return false;
  return std::ranges::all_of(inputs.state.objectives_of(committed.trial).objectives(),
                             [&](const objective::Objective& one) {
                               return metric_value(committed, one.metric, inputs.metrics).has_value();
                             });
}

/// Returns what a front compares in place of a trial.
run::SharedTrial mean_of_repeats(const run::RunState& state, const run::SharedTrial& committed) {
  if (committed->trial.is_final() || state.repeats() == 1) return committed;
  return state.search_mean(state.first_repeat(committed->trial));
}

/// Returns "; `latency_ms: [0, 1]`: they have 3.20 to 45.0" for each measured constraint.
std::string constraint_values(const ReportInputs& inputs, const Trials& trials) {
  std::string text;
  for (const objective::Constraint& constraint :
       inputs.state.objectives_of(trials.front()->trial).constraints()) {
    if (constraint.computed) continue;
    std::vector<double> values;
    for (const auto& committed : trials) {
      const run::SharedTrial mean = mean_of_repeats(inputs.state, committed);
      if (const auto value = metric_value(*mean, constraint.metric, inputs.metrics)) values.push_back(*value);
    }
    if (values.empty()) continue;
    const auto [least, most] = std::ranges::minmax(values);
    const trial::Metric metric = described(constraint.metric, inputs.metrics);
    text += fmt::format("; `{}`: they have {} to {}", to_text(constraint), metric_text(metric, least),
                        metric_text(metric, most));
  }
  return text;
}

/// @param noun  word for one of the trials
std::string reason_of(const ReportInputs& inputs, const Trials& trials, const std::string& noun) {
  const auto failed = [](const auto& committed) { return failure_of(*committed) != nullptr; };
  if (trials.empty()) return fmt::format("no {} is done", noun);
  const auto outside = [](const auto& committed) { return trial::is_outside(committed->outcome); };
  if (std::ranges::all_of(trials, outside)) {
    return fmt::format("no {} was trained, because each broke a constraint before, the first one: {}", noun,
                       trial::reason_of(trials.front()->outcome));
  }
  if (std::ranges::any_of(trials, outside)) {
    Trials trained = trials;
    std::erase_if(trained, outside);
    return reason_of(inputs, trained, noun + " that was trained");
  }
  if (std::ranges::all_of(trials, failed))
    return fmt::format("every {} failed, {}", noun, usual_failure(trials));
  const bool measured =
      std::ranges::any_of(trials, [&](const auto& committed) { return has_objectives(inputs, *committed); });
  if (!measured) return fmt::format("no {} has a value for each objective", noun);
  const auto is_whole = [&](const auto& each) {
    return !each->trial.may_be_continued() && has_objectives(inputs, *each);
  };
  if (std::ranges::none_of(trials, is_whole)) {
    const auto meets_constraints = [&](const auto& each) {
      return inputs.state.objectives_of(each->trial).values(*each).has_value();
    };
    const std::string failure = usual_failure(trials);
    const std::string reason = fmt::format("no {} ended well with its full budget{}", noun,
                                           failure.empty() ? "" : "; some failed, " + failure);
    if (std::ranges::any_of(trials, meets_constraints)) return reason;
    return reason + "; none with a smaller one meets the constraints, so none went on" +
           constraint_values(inputs, trials);
  }
  return fmt::format("no {} meets the constraints{}", noun, constraint_values(inputs, trials));
}

/// Returns e.g. "`steps` has no reference point".
std::string lacking(const std::vector<std::string>& metrics, const std::string& end) {
  return joined(metrics) + (metrics.size() == 1 ? " has no " : " have no ") + end +
         (metrics.size() == 1 ? "" : "s");
}

}  // namespace

std::string no_front_reason(const ReportInputs& inputs) {
  return reason_of(inputs, trials_of(inputs.state, trial::Phase::kSearch), "trial");
}

std::string no_final_front_reason(const ReportInputs& inputs) {
  return reason_of(inputs, trials_of(inputs.state, trial::Phase::kFinal), "full training");
}

std::string volume_text(const run::RunState& state) {
  std::vector<std::string> ends;
  std::vector<std::string> without;       // metrics without a reference point
  std::vector<std::string> without_best;  // metrics without a best value
  for (const objective::Objective& objective : state.objectives().objectives()) {
    if (!objective.reference) without.push_back("`" + objective.metric + "`");
    if (!objective.ideal) without_best.push_back("`" + objective.metric + "`");
    if (objective.reference && objective.ideal) {
      const bool is_log = objective.scale == objective::Scale::kLog;
      ends.push_back(objective.metric + " " + format_number(*objective.reference) +
                     (is_log ? " to " + format_number(*objective.ideal) + " (log)" : ""));
    }
  }
  std::vector<std::string> gaps;
  if (!without.empty()) {
    gaps.push_back(lacking(without, "reference point") +
                   ", which a constraint or `reference` in the objective gives");
  }
  if (!without_best.empty()) {
    gaps.push_back(lacking(without_best, "best possible value") +
                   ", which a constraint or `ideal` in the objective gives");
  }
  if (!gaps.empty()) return "no hypervolume: " + joined(gaps, "; ");
  if (!state.objectives().has_volume())
    return "no hypervolume: no architecture can be better than the reference point";
  std::string text = fmt::format("hypervolume {:.4f}", *state.volume());
  if (const auto volume = state.final_volume(); volume && state.final_budget())
    text += fmt::format(" of the search, {:.4f} of the final front", *volume);
  return text + " (of 1), measured from " + joined(ends);
}

}  // namespace skyline::report
