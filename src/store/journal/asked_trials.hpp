#pragma once

#include "skyline/space/search_space.hpp"
#include "skyline/trial/trial.hpp"

#include "store/journal/journal.hpp"
#include "store/run_folder/run_folder.hpp"
#include "trial/commit_log.hpp"

#include <map>
#include <vector>

namespace skyline::store {

/// What a search proposed, by the numbers of its trials.
using AskedTrials = std::map<trial::TrialNumber, trial::Proposal>;

/// Publishes checkpoints/asked.jsonl: trials that a search has asked for and that are not committed, as lines
/// of the journal without a result. A resume takes them from there, so that the search needs not think of
/// them again. @throws Problem
void write_asked_trials(const RunPaths& paths, const JournalHeader& header,
                        const std::vector<trial::Trial>& asked, const space::SearchSpace& space);

/// Reads what write_asked_trials wrote; nothing if there is no file. A file of another run or version, or a
/// damaged line, is skipped with a warning that names it. @throws Problem if the folder cannot be read
AskedTrials read_asked_trials(const RunPaths& paths, const JournalHeader& header,
                              const space::SearchSpace& space, const trial::CommitLog& committed);

/// Removes the file, if there is one. @throws Problem
void remove_asked_trials(const RunPaths& paths);

}  // namespace skyline::store
