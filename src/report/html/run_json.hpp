#pragma once

#include "report/files/trials_json.hpp"
#include "report/html/html_report.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

namespace skyline::report {

// The data of the page. They are columns rather than objects, so that 20,000 trials take only some megabytes.

/// The fewest trials from which the importance of parameters is computed: a tenth of fewer says nothing.
constexpr std::size_t kFewestRanked = 50;

/// Writes whole numbers in full and others with seven significant digits; null if there is no finite value.
Json short_number(std::optional<double> value);

Json run_json(const ReportedRun& run);
/// Returns the volume over the trials and over time.
Json volume_json(const ReportedRun& run);
/// Returns the front after some of the iterations.
Json evolution_json(const ReportedRun& run);
/// Returns the importance of the parameters for each objective.
Json importance_json(const ReportedRun& run);
/// Returns the learning curves of some trials, those on the front first.
Json courses_json(const ReportedRun& run);
/// Returns the layer graphs of trials on the front.
Json networks_json(const ReportedRun& run);
/// Returns the answers of full trainings by their trial. Text that is no such JSON is left out.
Json answers_json(const ReportedRun& run);

/// Returns the trials on the front of the search, then the other trials on the final one.
std::vector<trial::TrialNumber> members_of(const run::RunState& state);
/// Returns bytes as base64. @param hex  their hex digits
std::string base64_of_hex(std::string_view hex);
/// Returns the hours from the start of the run to the end of the trial.
double end_hours(const trial::TrialTiming& timing);

}  // namespace skyline::report
