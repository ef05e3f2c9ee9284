#pragma once

#include "store/run_folder/run_folder.hpp"

#include <filesystem>
#include <span>

namespace skyline::store {

/// Checks that a run may begin in a folder without a journal: one that is missing, empty, or holds logs and
/// what a job leaves that ended before its first trial. Nothing else may be overwritten or removed.
/// @param config  the configuration that the user named; empty: the folder's own
/// @param results  paths of the files that follow from a run's journal
/// @throws UserError naming what is in the way
void check_fresh_folder(const RunPaths& paths, const std::filesystem::path& config,
                        std::span<const std::filesystem::path> results);

}  // namespace skyline::store
