#pragma once

#include "skyline/trial/evaluator.hpp"

#include "store/run_folder/run_folder.hpp"

#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace skyline::store {

/// Trained parameters and buffers with their provenance.
struct WeightsFile {
  trial::TrialNumber trial = 0;
  std::string provenance;  // store::provenance
  std::string genotype;    // SearchSpace::describe
  std::vector<trial::NamedTensor> tensors;
};

/// Writes an HDF5 file: one float32 data set per tensor under /tensors/<layer>/<name>, provenance as
/// attributes of the root; made in memory, published whole. @throws UserError
void write_weights(const std::filesystem::path& path, const WeightsFile& weights);
/// Reads a weights file. @throws UserError: missing, not Skyline's, damaged
WeightsFile read_weights(const std::filesystem::path& path);

/// Removes the weights of these trials that are there. @throws UserError
void remove_unwanted_weights(const RunPaths& paths, const std::set<trial::TrialName>& names);

/// Reads the bytes of a weights file; `path` is for messages. @throws UserError as read_weights
WeightsFile decode_weights(std::string_view file, const std::filesystem::path& path);

}  // namespace skyline::store
