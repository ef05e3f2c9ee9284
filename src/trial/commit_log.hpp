#pragma once

#include "skyline/trial/trial.hpp"

#include <map>
#include <optional>
#include <set>
#include <utility>

namespace skyline::trial {

/// The committed trials of a run with their positions. The number of a trial is the order of asking, its
/// position the order of commits: they need not agree.
class CommitLog {
 public:
  /// Gives the trial the next position. @pre !contains(trial)
  CommitPosition add(const Trial& trial);
  CommitPosition size() const { return size_; }

  /// The position of a search trial; nothing if it is not committed.
  std::optional<CommitPosition> position_of(TrialNumber number) const;
  /// Whether the trial is committed. A full training with another budget is another one.
  bool contains(TrialName name, const Budget& budget) const;
  bool contains(const Trial& trial) const { return contains(trial.name(), trial.budget()); }

 private:
  CommitPosition size_ = 0;
  std::map<TrialNumber, CommitPosition> searched_;
  std::set<std::pair<TrialNumber, double>> trained_;  // full trainings with their epochs
};

}  // namespace skyline::trial
