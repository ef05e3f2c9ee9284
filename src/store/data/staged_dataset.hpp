#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

namespace skyline::store {

/// Copies of data sets on a disk of the node, so that a file crosses the network once per node and not once
/// per rank and epoch. They lie in FOLDER/skyline-UID, which is for this user alone, under a name made of
/// their content: jobs of one node share a copy, and the next job finds it.

/// Makes the user's folder in `folder` if it is not there, and returns its path.
/// @throws UserError if `folder` is missing, or the user's folder is a link, somebody else's or open to
/// others
std::filesystem::path make_stage(const std::filesystem::path& folder);

/// Path of the copy of a data set. @param content_hash  of the data set
std::filesystem::path staged_path(const std::filesystem::path& folder, const std::string& content_hash);

/// Free space that staging a file requires: its size and a reserve for others. @throws UserError
std::uint64_t staging_bytes(const std::filesystem::path& source);

/// Reporting and stopping while a copy is made or checked.
struct StagingOptions {
  double report_after_s = 5;  // time of the first progress line in the log; then in growing intervals
  std::function<bool()> stop_requested = [] { return false; };  // called now and then
};

struct StagedDataset {
  std::filesystem::path path;
  std::uint64_t bytes = 0;
  std::optional<double> copy_s;  // none: a copy existed
};

/// Ensures that `folder` holds a sound copy of a data set, old or new; computes its checksums. Removes copies
/// that no job has used for a week. One process of a node calls it; of several jobs one copies at a time.
/// @return nothing if it was stopped
/// @throws UserError naming host, source and folder: not enough space, not readable, not writable, damaged;
/// nothing is left behind then
std::optional<StagedDataset> stage_dataset(const std::filesystem::path& source,
                                           const std::filesystem::path& folder,
                                           const StagingOptions& options = {});

}  // namespace skyline::store
