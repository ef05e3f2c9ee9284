#pragma once

#include "report/files/trial_results.hpp"
#include "store/run_folder/run_folder.hpp"

#include <string>

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

}  // namespace skyline::report
