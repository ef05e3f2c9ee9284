#pragma once

#include "skyline/objective/objective_set.hpp"
#include "skyline/trial/metric.hpp"

#include "report/files/trial_results.hpp"
#include "trial/trial_fields.hpp"

#include <optional>
#include <vector>

#include <nlohmann/json.hpp>

namespace skyline::report {

// Parts that pareto.json, models.json and the page of reports share.

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
