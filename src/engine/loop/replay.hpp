#pragma once

#include "skyline/trial/metric.hpp"
#include "skyline/trial/trial.hpp"

#include "engine/work/dispatcher.hpp"
#include "store/journal/asked_trials.hpp"
#include "store/journal/journal.hpp"
#include "trial/commit_log.hpp"

#include <cstddef>
#include <map>
#include <optional>
#include <vector>

namespace skyline::engine {

/// Returns whether two trials have the same result.
bool same_training(const trial::Trial& left, const trial::Trial& right);

/// Checks that this configuration measures the journal's metrics. @throws UserError
void check_same_metrics(const store::JournalHeader& recorded, const std::vector<trial::Metric>& measured);

/// The results of earlier jobs of the run, which a fresh search gets instead of training again: the lines of
/// the journal, results that wait for their commit, and what the search had asked for besides. Each is
/// returned once. Empty for a new run.
class Replay {
 public:
  Replay() = default;
  /// @param waiting  results that an earlier job left besides the journal
  /// @param failed   trials that must not be trained again, because they ended jobs
  /// @param asked    trials without a result that the search had asked for
  Replay(trial::CommitLog journal, trial::ResultsByName waiting,
         std::map<trial::TrialName, trial::Failure> failed = {}, store::AskedTrials asked = {});

  std::size_t size() const { return lines_.size(); }
  /// Returns what the search proposed as trial `number`, as it is recorded; nullopt if it is not. Then
  /// nothing that was asked for later counts any more, because it follows from what is missing.
  std::optional<trial::Proposal> proposal_of(trial::TrialNumber number);
  /// Returns the recorded result of a trial that is asked for again; nullopt if it must be trained.
  std::optional<Arrival> result_of(const trial::Trial& asked);
  /// Returns the line of a place if it is a full training that an earlier job made after the search, before
  /// the run was extended, so that nobody asks for it any more. Call it when all lines before are committed.
  /// @param due  the trial that would be committed there; nullptr at the end of the run
  /// @throws UserError if the journal has a search trial there that nobody asked for
  std::optional<trial::CommittedTrial> take_unasked(trial::CommitPosition place, const trial::Trial* due);
  /// Returns the trial that was committed in a place, or nullopt after the journal's end.
  std::optional<trial::TrialName> name_at(trial::CommitPosition place) const;

 private:
  trial::SharedTrial find(const trial::Trial& asked) const;

  trial::CommitLog lines_;       // lines that are not committed yet
  std::vector<bool> given_out_;  // indexed by position
  trial::ResultsByName waiting_;
  std::map<trial::TrialName, trial::Failure> failed_;
  store::AskedTrials asked_;
};

/// Returns when the jobs that wrote the journal had ended, in seconds of the run; its clock continues from
/// there.
double replayed_seconds(const trial::CommitLog& journal);

}  // namespace skyline::engine
