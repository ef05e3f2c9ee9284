#pragma once

#include "report/html/html_report.hpp"

#include <optional>
#include <vector>

#include <nlohmann/json.hpp>

namespace skyline::report {

// The data of the page. Columns rather than objects: those of 20,000 trials stay below some megabytes.

using Json = nlohmann::ordered_json;

/// Whole numbers as such, others with seven significant digits; null if there is no finite value.
Json short_number(std::optional<double> value);

/// All of a run.
Json run_json(const ReportedRun& run);
/// Groups, means and tests of several runs; or why there are none; null: there is one run.
Json comparison_json(const ReportOptions& options);
/// The volume over the trials and over time.
Json volume_json(const ReportedRun& run);
/// The front after some of the iterations.
Json evolution_json(const ReportedRun& run);
/// The importance of the parameters for each objective.
Json importance_json(const ReportedRun& run);
/// The courses of some trials, those on the front first.
Json courses_json(const ReportedRun& run);
/// The layer graphs of trials on the front.
Json networks_json(const ReportedRun& run);

/// The trials on the front of the search, then the others on the final one.
std::vector<trial::TrialNumber> members_of(const run::RunState& state);
/// Hours from the start of the run to the end of the trial.
double end_hours(const trial::TrialTiming& timing);

}  // namespace skyline::report
