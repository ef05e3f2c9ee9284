#pragma once

#include "skyline/trial/metric.hpp"
#include "skyline/trial/trial.hpp"

#include "store/run_folder/run_folder.hpp"

#include <string>
#include <vector>

namespace skyline::store {

/// Publishes checkpoints/17.steps.json: the values that a trial in flight has reported after declared steps
/// (`search.pruning`), so that a later attempt, whose trainer may not report them again, decides alike.
/// @param provenance  store::provenance
/// @throws Problem
void write_step_values(const RunPaths& paths, trial::TrialName trial, const std::string& provenance,
                       const std::vector<trial::StepValues>& steps,
                       const std::vector<trial::Metric>& metrics);

/// Returns the values that an earlier attempt at the trial, or an earlier job, has written; none without a
/// file. A file that is damaged, or of another trial, is ignored with a warning that names it.
/// @throws Problem if the folder cannot be read
std::vector<trial::StepValues> read_step_values(const RunPaths& paths, trial::TrialName trial,
                                                const std::string& provenance,
                                                const std::vector<trial::Metric>& metrics);

/// Removes the file of a trial, if there is one. @throws Problem
void remove_step_values(const RunPaths& paths, trial::TrialName trial);
/// Removes the files of all trials. @throws Problem
void remove_all_step_values(const RunPaths& paths);

}  // namespace skyline::store
