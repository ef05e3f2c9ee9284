#pragma once

#include "skyline/core/config_node.hpp"
#include "skyline/objective/objective_set.hpp"
#include "skyline/space/search_space.hpp"
#include "skyline/trial/trial.hpp"

#include "run/run_state.hpp"
#include "store/journal/run_tables.hpp"
#include "store/run_folder/run_folder.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace skyline::report {

/// Where the search trials come from whose models `skyline train` trains.
struct SourceTrials {
  std::string run = {};                          // name of that run's folder; empty if there is none
  std::vector<trial::TrialNumber> numbers = {};  // their numbers there, [search trials]
};

/// The latency of a network of the front, measured in several rounds when the run was done.
struct FrontLatency {
  trial::TrialNumber trial = 0;
  std::vector<double> rounds_ms;  // at least one

  double least_ms() const { return std::ranges::min(rounds_ms); }
};

/// The values that the metrics of a full training have on resamples of the test set. Equal places of two
/// networks are of the same samples.
struct Replicates {
  std::uint64_t samples = 0;                          // size of the test set
  std::map<std::string, std::vector<double>> values;  // at least one for each metric
};

/// The source of all reports.
struct ReportInputs {
  const space::SearchSpace& space;
  const std::vector<trial::Metric>& metrics;  // metrics of Measurements::values
  const run::RunState& state;
  std::vector<trial::Baseline> baselines = {};
  SourceTrials source = {};
  std::vector<FrontLatency> latencies = {};
  std::map<trial::TrialNumber, Replicates> replicates = {};  // key: a member of the final front
  bool may_be_lucky = false;  // whether results depend on a seed, so that the best ones owe something to it
};

/// Says what cannot be expected of two runs with equal configurations.
constexpr const char* kNotDeterministic =
    "the evaluator is not deterministic: equal runs need not have equal results";

enum class RunEnd { kFinished, kStopped, kFailed };

/// Returns the name of a run, i.e. of its folder.
std::string run_name(const store::RunPaths& paths);
/// Returns which trials a run takes from which other run. @param config  its complete configuration
SourceTrials source_trials(const ConfigNode& config);

/// Returns the metric by which full trainings are judged on the test set: the one that repeats the metric of
/// the first possible objective, else the first metric of the test set, else nullptr.
const trial::Metric* test_metric(const objective::ObjectiveSet& objectives,
                                 const std::vector<trial::Metric>& metrics);

/// Returns a trial's value of a metric, computed or measured; nullopt if it was not measured.
/// @param metrics  metrics of Measurements::values
std::optional<double> metric_value(const trial::CommittedTrial& committed, std::string_view metric,
                                   const std::vector<trial::Metric>& metrics);

/// Returns whether a metric of a run is computed. @param measured  metrics of Measurements::values
bool is_computed_metric(std::string_view metric, const std::vector<trial::Metric>& measured);
/// Returns the description of a metric, computed or measured. If nothing describes the metric, the
/// description is that of a computed one, and has only its name.
/// @param computed  ObjectiveSet::computed(), as far as it is known
trial::Metric described(std::string_view metric, const std::vector<trial::Metric>& measured,
                        const std::vector<trial::Metric>& computed = objective::cost_metrics());

/// Returns whether a value is a whole number of 64 bits.
bool is_integer(double value);

/// Returns the value of a parameter in an architecture, or `unused` if the network does not depend on it.
std::string parameter_text(const space::SearchSpace& space, const space::Architecture& architecture,
                           std::size_t parameter, const std::string& unused);

/// Returns the metrics that only a constraint uses, in the order of the constraints.
std::vector<std::string> constraint_only_metrics(const objective::ObjectiveSet& objectives);

/// Returns the computed metrics that neither an objective nor a constraint uses.
std::vector<std::string> other_computed_metrics(const objective::ObjectiveSet& objectives);

using store::status_of;
/// Returns nullptr if the trial did not fail.
const trial::Failure* failure_of(const trial::CommittedTrial& committed);

/// Trials that failed in the same way, numbers in the reason aside ("at step 12").
struct FailureGroup {
  trial::Failure failure;  // the first failure
  std::vector<trial::TrialName> trials;
};
/// Groups those of the trials that failed, the most frequent failure first. A trial outside of constraints
/// has not failed.
std::vector<FailureGroup> failure_groups(const std::vector<run::SharedTrial>& trials);
/// Returns e.g. "most often as diverged (18 of 20): the loss is NaN at step 12"; empty if none failed.
std::string usual_failure(const std::vector<run::SharedTrial>& trials);

/// Returns the members of a front, ordered by the objectives, best first, then by insertion.
std::vector<trial::TrialNumber> front_order(const search::ParetoArchive& front);

/// Returns the metrics by which trainings are judged: the objectives, those of constraints, and those of the
/// test set.
std::vector<std::string> judged_metrics(const objective::ObjectiveSet& objectives,
                                        const std::vector<trial::Metric>& metrics);

/// Returns the number of samples whose share a metric is, or nullopt if it is no such share.
/// @param is_full  whether a full training measured it, and not a trial of the search
std::optional<std::uint64_t> samples_of(const trial::Baseline& baseline, bool is_full);

/// Returns the members of the final front, best first, then those of the search's front.
std::vector<trial::TrialNumber> front_members(const run::RunState& state);
/// Groups those of them whose networks are the same, because only their training values differ.
std::vector<std::vector<trial::TrialNumber>> equal_networks(const space::SearchSpace& space,
                                                            const run::RunState& state);

/// Returns the latest full training of a search trial that is no repeat, or nullptr if there is none.
run::SharedTrial final_of(const run::RunState& state, trial::TrialNumber number);

/// Full trainings of an architecture with different seeds, in the order of their commits.
using SeedGroup = std::vector<run::SharedTrial>;

/// Groups the first full trainings of all trials with the final budget by architecture and keeps groups of
/// two or more, ordered by the mean of the first objective, best first.
std::vector<SeedGroup> seed_groups(const ReportInputs& inputs);

/// A metric over those trainings of a group that have it.
struct Spread {
  std::size_t count = 0;
  double mean = 0;
  std::optional<double> deviation;  // standard deviation of the sample; nullopt for one value
};
/// Returns nullopt if no training of the group has the metric.
std::optional<Spread> spread_of(const SeedGroup& group, const std::string& metric,
                                const std::vector<trial::Metric>& metrics);

}  // namespace skyline::report
