#pragma once

#include "store/run_folder/run_folder.hpp"

#include <filesystem>
#include <span>

namespace skyline::store {

/// Checks that a run may begin in a folder without a journal. It must be missing, empty, or contain only logs
/// and the files of a job that ended before its first trial. Nothing else may be overwritten or removed.
/// @param config  the configuration that the user named; empty for the folder's own
/// @param results  paths of the files that follow from a run's journal
/// @throws UserError with the file that is in the way
void check_fresh_folder(const RunPaths& paths, const std::filesystem::path& config,
                        std::span<const std::filesystem::path> results);

}  // namespace skyline::store
