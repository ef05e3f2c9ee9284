#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

namespace skyline::store {

/// Copies of data sets on a disk of the node, so that a file crosses the network once per node and not once
/// per rank and epoch. They are in FOLDER/skyline-UID, which only this user may open, under a name made from
/// their content: the jobs of a node share a copy, and the next job finds it.

/// Makes the user's folder in `folder` if it is missing, and returns its path.
/// @throws UserError if `folder` is missing, or the user's is a link, somebody else's or open to others
std::filesystem::path make_stage(const std::filesystem::path& folder);

/// Returns the path of the copy of a data set.
/// @param content_hash  hash of the data set
std::filesystem::path staged_path(const std::filesystem::path& folder, const std::string& content_hash);

/// Returns the free space that staging a file needs: its size and a reserve for others. @throws UserError
std::uint64_t staging_bytes(const std::filesystem::path& source);

struct StagingOptions {
  double report_after_s = 5;  // time of the first progress line in the log; the intervals then double
  std::function<bool()> stop_requested = [] { return false; };  // called now and then
};

/// Ensures that `folder` has a sound copy of a data set, old or new; computes its checksums. Removes copies
/// that no job has used for a week. One process of a node calls it; if there are several jobs, one copies at
/// a time. Returns the seconds of copying, 0 if there was a copy, or nullopt if it was stopped.
/// @throws UserError with host, source and folder: not enough space, not readable, not writable, damaged;
///         nothing is left in the folder then. FaultError if the disk or the file server doesn't answer
std::optional<double> stage_dataset(const std::filesystem::path& source, const std::filesystem::path& folder,
                                    const StagingOptions& options = {});

}  // namespace skyline::store
