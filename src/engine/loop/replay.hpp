#pragma once

#include "skyline/trial/metric.hpp"
#include "skyline/trial/trial.hpp"

#include "engine/work/dispatcher.hpp"
#include "trial/commit_log.hpp"

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace skyline::engine {

/// Whether two trials come to the same result.
bool same_training(const trial::Trial& left, const trial::Trial& right);

/// @throws UserError if the journal's metrics are not those that this configuration measures
void check_same_metrics(const std::vector<trial::Metric>& recorded,
                        const std::vector<trial::Metric>& measured);

/// The results of earlier jobs of the run, which a fresh search gets instead of training again: the lines of
/// the journal, and results that still wait for their commit. Each is given out once. Empty for a new run.
class Replay {
 public:
  Replay() = default;
  /// @param waiting  results that an earlier job left beside the journal
  /// @param failed   trials that must not be trained again: they ended jobs
  Replay(trial::CommitLog journal, trial::ResultsByName waiting,
         std::map<trial::TrialName, trial::Failure> failed = {});

  /// Lines of the journal.
  std::size_t size() const { return lines_.size(); }
  /// The recorded result of a trial that is asked for again; nothing if it must be trained.
  std::optional<Arrival> result_of(const trial::Trial& asked);
  /// The line of a place, if it is a full training that an earlier job made after the search, before the run
  /// was extended: nobody asks for it any more. To be called once all that come before it are committed.
  /// @param due  the trial that would be committed there; nullptr: the run is at its end
  /// @throws UserError if the journal has a search trial there that nobody asked for
  std::optional<trial::CommittedTrial> take_unasked(trial::CommitPosition place, const trial::Trial* due);
  /// The trial that was committed in a place; nothing behind the journal's end.
  std::optional<trial::TrialName> name_at(trial::CommitPosition place) const;

 private:
  trial::SharedTrial find(const trial::Trial& asked) const;

  trial::CommitLog lines_;       // without those that are committed
  std::vector<bool> given_out_;  // by position
  trial::ResultsByName waiting_;
  std::map<trial::TrialName, trial::Failure> failed_;
};

/// When the jobs that wrote the journal had ended, in seconds of the run: its clock goes on from there.
double replayed_seconds(const trial::CommitLog& journal);

}  // namespace skyline::engine
