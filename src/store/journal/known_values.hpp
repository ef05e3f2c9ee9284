#pragma once

#include "skyline/space/network.hpp"
#include "skyline/trial/evaluator.hpp"
#include "skyline/trial/metric.hpp"
#include "skyline/trial/trial.hpp"

#include "store/run_folder/run_folder.hpp"

#include <span>
#include <string>
#include <unordered_map>
#include <utility>
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

/// Costs that a program has counted, by architecture, in the order of SearchSpace::counted().
using CountedCosts = std::unordered_map<space::ArchId, std::vector<double>>;

/// Reads trainer/costs.jsonl, in which a run keeps all answers of its program; empty without it. Lines that
/// are damaged, or have another number of costs, are left out. @throws as read_file
CountedCosts read_counted_costs(const RunPaths& paths, std::size_t costs);

/// Appends answers. @throws as publish_file
void append_counted_costs(const RunPaths& paths,
                          std::span<const std::pair<space::ArchId, std::vector<double>>> counted);

}  // namespace skyline::store
