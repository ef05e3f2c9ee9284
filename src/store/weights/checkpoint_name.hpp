#pragma once

#include "skyline/trial/trial.hpp"

#include "store/run_folder/run_folder.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace skyline::store {

/// Names of a trial's checkpoints, which take turns.
inline constexpr std::uint64_t kCheckpointNames = 2;

/// checkpoints/<trial>.<turn>.h5; @param turn  below kCheckpointNames
std::filesystem::path checkpoint_path(const RunPaths& paths, trial::TrialNumber trial, std::uint64_t turn);

/// The trial of a file of such a name.
std::optional<trial::TrialNumber> trial_of_checkpoint(const std::string& name);

}  // namespace skyline::store
