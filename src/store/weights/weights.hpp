#pragma once

#include "skyline/trial/evaluator.hpp"
#include "skyline/trial/trial.hpp"

#include "store/run_folder/run_folder.hpp"

#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace skyline::store {

/// Trained parameters and buffers with their provenance.
struct WeightsFile {
  RunStamp run;
  std::string arch_id;
  std::string genotype;  // SearchSpace::describe
  std::string phase;
  trial::TrialNumber trial = 0;
  std::uint64_t seed = 0;
  double epochs = 0;
  std::uint64_t members = 1;                        // members of the group that trained them
  std::vector<std::uint64_t> parents;               // trial numbers
  std::optional<trial::TrialNumber> inherits_from;  // trial whose weights the training began with
  std::vector<trial::NamedTensor> tensors;
};

/// Writes an HDF5 file: one float32 data set per tensor under /tensors/<layer>/<name>, provenance as
/// attributes of the root; made in memory, published whole. @throws UserError
void write_weights(const std::filesystem::path& path, const WeightsFile& weights);
/// Reads a weights file. @throws UserError: missing, not Skyline's, damaged
WeightsFile read_weights(const std::filesystem::path& path);

/// Removes the weights of the search trials `numbers` and of their full trainings that are there. @throws
/// UserError
void remove_unwanted_weights(const RunPaths& paths, const std::set<trial::TrialNumber>& numbers);

/// Reads the bytes of a weights file; `path` is for messages. @throws UserError as read_weights
WeightsFile decode_weights(std::string_view file, const std::filesystem::path& path);

}  // namespace skyline::store
