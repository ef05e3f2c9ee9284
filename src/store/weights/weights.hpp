#pragma once

#include "skyline/trial/evaluator.hpp"

#include "store/run_folder/run_folder.hpp"

#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace skyline::store {

/// Trained parameters and buffers with their provenance.
struct WeightsFile {
  trial::TrialNumber trial = 0;
  std::string provenance;  // see store::provenance
  std::string genotype;    // see SearchSpace::describe
  std::vector<trial::NamedTensor> tensors;
};

/// Publishes an HDF5 file that is made in memory: one float32 data set per tensor under
/// /tensors/<layer>/<name>, and the provenance as attributes of the root. @throws UserError
void write_weights(const std::filesystem::path& path, const WeightsFile& weights);
/// Reads a weights file. @throws UserError if it is missing, not Skyline's, or damaged
WeightsFile read_weights(const std::filesystem::path& path);

/// The result of one attempt to read a weights file.
struct WeightsReading {
  std::shared_ptr<const WeightsFile> weights;  // nullptr if there are none
  std::string problem;                         // without weights: the file and its problem
  bool is_transient = false;  // without weights: a later attempt may succeed (NFS, storage that is
                              // unavailable for a while)
};

/// Reads the weights of a trial's published file. Tries once and never waits: the storage thread has other
/// work.
WeightsReading try_weights(const std::filesystem::path& path, trial::TrialNumber trial);

/// Removes the weights of a training, and its answers, if they exist. @throws UserError
void remove_weights(const RunPaths& paths, trial::TrialName name);
/// Removes those of all these trainings whose weights exist. @throws UserError
void remove_unwanted_weights(const RunPaths& paths, const std::set<trial::TrialName>& names);

}  // namespace skyline::store
