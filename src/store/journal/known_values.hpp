#pragma once

#include "skyline/trial/evaluator.hpp"
#include "skyline/trial/metric.hpp"
#include "skyline/trial/trial.hpp"

#include "store/run_folder/run_folder.hpp"

#include <string>
#include <vector>

namespace skyline::store {

/// What is known of a trial before it has ended.
struct KnownValues {
  trial::EarlyValues::ByMetric early;    // answers of programs that were asked before the training
  std::vector<trial::StepValues> steps;  // values after declared steps (`search.pruning`)
};

/// Publishes checkpoints/17.steps.json, so that no later attempt asks again, and each decides alike although
/// its trainer may not report earlier steps again.
/// @param provenance  store::provenance
/// @throws Problem
void write_known_values(const RunPaths& paths, trial::TrialName trial, const std::string& provenance,
                        const KnownValues& values, const std::vector<trial::Metric>& metrics);

/// Returns what an earlier attempt at the trial, or an earlier job, has written; nothing without a file. A
/// file that is damaged, or of another trial, is ignored with a warning that names it.
/// @throws Problem if the folder cannot be read
KnownValues read_known_values(const RunPaths& paths, trial::TrialName trial, const std::string& provenance,
                              const std::vector<trial::Metric>& metrics);
/// Returns the early values of the search trial that a full training trains, likewise.
/// @throws Problem if the folder cannot be read
trial::EarlyValues::ByMetric read_searched_values(const RunPaths& paths, const trial::Trial& full_training);

/// Removes the file of a trial, if there is one. @throws Problem
void remove_known_values(const RunPaths& paths, trial::TrialName trial);
/// Removes the files of all trials. @throws Problem
void remove_all_known_values(const RunPaths& paths);

}  // namespace skyline::store
