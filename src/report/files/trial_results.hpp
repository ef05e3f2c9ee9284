#pragma once

#include "skyline/objective/objective_set.hpp"
#include "skyline/trial/trial.hpp"

#include "report/report.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace skyline::report {

inline constexpr const char* kTestMetric = "test_accuracy";  // of full trainings

/// Value of a metric of a trial, computed from the network or measured; nothing if it was not measured.
/// @param metrics  names of Measurements::values
std::optional<double> metric_value(const trial::CommittedTrial& committed, std::string_view metric,
                                   const std::vector<std::string>& metrics);

bool is_computed_metric(std::string_view metric);

/// Metrics that only a constraint uses, in the order of the constraints.
std::vector<std::string> constraint_only_metrics(const objective::ObjectiveSet& objectives);

/// Computed metrics that neither an objective nor a constraint uses.
std::vector<std::string> other_computed_metrics(const objective::ObjectiveSet& objectives);

/// "ok", or the kind of the failure.
std::string status_of(const trial::CommittedTrial& committed);
/// nullptr if the trial did not fail.
const trial::Failure* failure_of(const trial::CommittedTrial& committed);

/// Indices into `committed` of the search trials on the front: best first objective first, then the next
/// objectives, then the order of trials.
std::vector<std::size_t> front_order(const ReportInputs& inputs);

/// The full training of each search trial that had one: its number to index into `committed`; the last one
/// counts.
std::unordered_map<trial::TrialNumber, std::size_t> final_trials(const ReportInputs& inputs);

}  // namespace skyline::report
