#include "report/compare/comparison.hpp"

#include "skyline/core/error.hpp"

#include "report/compare/run_groups.hpp"
#include "report/compare/volume_curve.hpp"
#include "report/files/trial_results.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace skyline::report {
namespace {

using objective::Objective;

const run::RunState& state_of(const ComparedRun& run) {
  return run.opened->state;
}

std::string end_text(const std::optional<double>& end) {
  return end ? objective::number_text(*end) : "nothing";
}

/// Checks that the objectives are the same, with the same ends: volumes with other ends cannot be compared.
void check_objectives(const ComparedRun& first, const ComparedRun& other) {
  const std::vector<Objective>& expected = state_of(first).objectives().objectives();
  const std::vector<Objective>& found = state_of(other).objectives().objectives();
  const bool same = std::ranges::equal(expected, found, [](const Objective& left, const Objective& right) {
    return left.metric == right.metric && left.sense == right.sense;
  });
  if (!same)
    throw UserError(other.name + " has other objectives than " + first.name + ": they do not compare");
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (expected[i].reference == found[i].reference && expected[i].ideal == found[i].ideal) continue;
    throw UserError(
        other.name + " measures `" + found[i].metric + "` from " + end_text(found[i].reference) + " to " +
        end_text(found[i].ideal) + ", " + first.name + " from " + end_text(expected[i].reference) + " to " +
        end_text(expected[i].ideal) +
        ": expected one space, data shape and constraints, or the same `reference` in the objective");
  }
}

/// Returns the best value of an objective among the first search trials, or nullopt if none of them has one.
std::optional<double> best_of(const run::RunState& state, std::size_t objective, std::size_t trials) {
  std::optional<double> best;
  std::size_t seen = 0;
  for (const run::SharedTrial& committed : state.trials()) {
    if (committed->trial.is_final()) continue;
    if (seen++ == trials) break;
    const auto values = state.objectives().values(*committed);
    if (!values) continue;
    const double value = (*values)[objective];
    const bool minimized = state.objectives().objectives()[objective].sense == objective::Sense::kMinimize;
    best = !best ? value : minimized ? std::min(*best, value) : std::max(*best, value);
  }
  return best;
}

/// Returns whether all searches have the same number of trials, and fronts trained in full with one budget.
bool have_equal_finals(const Comparison& comparison) {
  const auto& budget = state_of(comparison.runs.front()).final_budget();
  return budget && std::ranges::all_of(comparison.runs, [&](const ComparedRun& run) {
           const run::RunState& state = state_of(run);
           const auto is_trained = [&](trial::TrialNumber number) {
             return state.final_training(number) != nullptr;
           };
           return state.final_budget() == budget &&
                  state.committed(trial::Phase::kSearch) == comparison.trials &&
                  std::ranges::all_of(state.front().keys(), is_trained);
         });
}

/// Adds a quantity with one number per run. Adds nothing if a run lacks it.
template <typename ValueOf>
void add_quantity(Comparison& comparison, const std::string& name, const trial::Metric& metric,
                  const ValueOf& value_of) {
  Quantity quantity{name, {}, {}, {}, metric};
  for (std::size_t run = 0; run < comparison.runs.size(); ++run) {
    const std::optional<double> value = value_of(run);
    if (!value) return;
    quantity.values.push_back(*value);
  }
  std::vector<std::vector<double>> samples;
  for (const RunGroup& group : comparison.groups) {
    auto& sample = samples.emplace_back();
    for (const std::size_t run : group.runs) sample.push_back(quantity.values[run]);
    quantity.means.push_back(mean_of(sample));
  }
  for (std::size_t left = 0; left < samples.size(); ++left) {
    for (std::size_t right = left + 1; right < samples.size(); ++right) {
      quantity.tests.push_back({left, right, mann_whitney(samples[left], samples[right])});
    }
  }
  comparison.quantities.push_back(std::move(quantity));
}

}  // namespace

Comparison compare_runs(std::vector<ComparedRun> runs) {
  Comparison comparison;
  comparison.runs = std::move(runs);
  const ComparedRun& first = comparison.runs.front();
  comparison.trials = state_of(first).committed(trial::Phase::kSearch);
  for (const ComparedRun& run : comparison.runs) {
    check_objectives(first, run);
    const std::size_t trials = state_of(run).committed(trial::Phase::kSearch);
    if (trials == 0) throw UserError(run.name + " has no trial yet");
    comparison.trials = std::min(comparison.trials, trials);
  }
  for (const ComparedRun& run : comparison.runs) {
    comparison.curves.push_back(volume_curve(state_of(run), comparison.trials));
  }
  comparison.groups = group_runs(comparison.runs);
  const objective::ObjectiveSet& objectives = state_of(first).objectives();
  if (objectives.has_volume()) {
    const trial::Metric volume{.name = "hypervolume", .range = {0, 1}};
    add_quantity(comparison, volume.name, volume, [&](std::size_t run) {
      return std::optional(comparison.curves[run][comparison.trials - 1]);
    });
    if (have_equal_finals(comparison)) {
      add_quantity(comparison, "final hypervolume", volume,
                   [&](std::size_t run) { return state_of(comparison.runs[run]).final_volume(); });
    }
  }
  for (std::size_t i = 0; i < objectives.objectives().size(); ++i) {
    if (objectives.objectives()[i].computed) continue;
    const std::string& name = objectives.objectives()[i].metric;
    const trial::Metric metric = described(name, first.opened->header.metrics);
    add_quantity(comparison, "best " + name, metric, [&](std::size_t run) {
      return best_of(state_of(comparison.runs[run]), i, comparison.trials);
    });
  }
  return comparison;
}

}  // namespace skyline::report
