#pragma once

#include "store/run_folder/run_folder.hpp"

#include <filesystem>
#include <span>
#include <string_view>

namespace skyline::store {

/// Returns the folder of a run that has copies of the results that were known before its search, each file
/// with its checksum as name.
inline std::filesystem::path known_folder(const RunPaths& paths) {
  return paths.root / "known";
}

/// Publishes config.yaml, with a first line that marks it as written by a job: it holds the checksum of the
/// rest, so a file that a person has changed, or written, is not taken for ours. @throws as publish_file
void publish_config(const RunPaths& paths, std::string_view yaml);

/// Checks that a run may begin in a folder without a journal. It must be missing, empty, or contain only logs
/// and the files of a job that ended before its first trial. Nothing else may be overwritten or removed.
/// @param config  the configuration that the user named; empty for the folder's own
/// @param results  paths of the files that follow from a run's journal
/// @throws UserError with the file that is in the way
void check_fresh_folder(const RunPaths& paths, const std::filesystem::path& config,
                        std::span<const std::filesystem::path> results);

}  // namespace skyline::store
