#pragma once

#include "skyline/objective/objective_set.hpp"
#include "skyline/trial/metric.hpp"

#include "report/files/trial_results.hpp"
#include "store/run_folder/run_folder.hpp"
#include "trial/trial_fields.hpp"

#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace skyline::report {

/// Returns the front of the search as a JSON list: `search_front` of pareto.json.
std::string front_json(const store::RunPaths& paths, const ReportInputs& inputs);
/// Returns an architecture with a network as JSON: its parameters, costs and layers, with the names that
/// models.json has for them.
std::string architecture_json(const space::SearchSpace& space, const space::Architecture& architecture);
/// Writes pareto.json: the final front and the search's, with architecture, objectives, constraints, budget,
/// seed and status. Published whole. @throws UserError, FaultError
void write_pareto_json(const store::RunPaths& paths, const ReportInputs& inputs);
/// Writes models.json: every trial, in the form of pareto.json, less what is elsewhere or the same for most.
/// Published whole. @throws UserError, FaultError
void write_models_json(const store::RunPaths& paths, const ReportInputs& inputs);

// Parts that these files and the page of reports share.

using Json = nlohmann::ordered_json;

/// Returns null if there is no finite value, because JSON has no NaN and no infinities.
Json number_json(std::optional<double> value);
Json objectives_json(const objective::ObjectiveSet& objectives);
Json constraints_json(const objective::ObjectiveSet& objectives);
Json baselines_json(const std::vector<trial::Baseline>& baselines);
/// Returns mean and deviation of each metric over those trainings that have it.
Json spreads_json(const SeedGroup& trainings, const std::vector<trial::Metric>& metrics);
/// Returns the number of repeats of a training, how many failed, and the means and deviations.
Json repeats_json(const SeedGroup& repeats, const std::vector<trial::Metric>& metrics);
/// Returns the cells of a topic by their names. A parameter that the network does not use is null.
Json cells_json(const std::vector<trial::Cell>& cells, trial::Cell::Topic topic);

}  // namespace skyline::report
