#pragma once

#include "skyline/trial/trial.hpp"

#include "store/run_folder/run_folder.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace skyline::store {

/// Number of names of a trial's checkpoints, which take turns.
inline constexpr std::uint64_t kCheckpointNames = 2;

/// checkpoints/<trial name>.<turn>.h5, e.g. 17.0.h5 or 17.final.1.h5; @param turn  below kCheckpointNames
std::filesystem::path checkpoint_path(const RunPaths& paths, trial::TrialName trial, std::uint64_t turn);

/// The trial in the name of a checkpoint.
std::optional<trial::TrialName> trial_of_checkpoint(const std::string& name);

}  // namespace skyline::store
