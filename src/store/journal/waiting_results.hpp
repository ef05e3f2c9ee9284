#pragma once

#include "skyline/space/search_space.hpp"
#include "skyline/trial/trial.hpp"

#include "store/journal/journal.hpp"
#include "store/publish/patience.hpp"
#include "store/run_folder/run_folder.hpp"
#include "trial/commit_log.hpp"

#include <optional>
#include <span>
#include <vector>

namespace skyline::store {

/// Publishes checkpoints/results.<rank>.jsonl, whole: results of this rank that wait for their commit, in the
/// journal's own lines, ascending. @throws UserError
void write_waiting_results(const RunPaths& paths, int rank, const JournalHeader& header,
                           const trial::ResultsByName& results, const space::SearchSpace& space,
                           Effort effort = Effort::kOnce);

/// Reads the results of all ranks' files except those of the `committed` trials. A file of another run or
/// version, or a damaged line, is skipped with a warning that names it. @throws UserError if the folder
/// cannot be read
trial::ResultsByName read_waiting_results(const RunPaths& paths, const JournalHeader& header,
                                          const space::SearchSpace& space,
                                          std::span<const trial::CommittedTrial> committed);

/// Whether there are waiting results, usable or not. @throws UserError
bool has_waiting_results(const RunPaths& paths);

/// Removes all ranks' files except that of rank `kept`. @throws UserError
void remove_waiting_results(const RunPaths& paths, std::optional<int> kept = {});

}  // namespace skyline::store
