#pragma once

#include "skyline/core/error.hpp"
#include "skyline/trial/trial.hpp"

#include <map>
#include <optional>
#include <set>
#include <utility>

namespace skyline::trial {

/// Results of trials by name, e.g. those that wait for their commit.
using ResultsByName = std::map<TrialName, CommittedTrial>;

/// The committed trials of a run with their positions. The number of a trial is the order of asking, its
/// position the order of commits: they need not agree.
class CommitLog {
 public:
  /// Gives the trial the next position. @pre !contains(trial)
  CommitPosition add(const Trial& trial) {
    require(!contains(trial), "a trial is committed twice");
    if (trial.is_final()) {
      trained_.insert({trial.number, trial.budget().epochs});
    } else {
      searched_[trial.number] = size_;
    }
    return size_++;
  }
  CommitPosition size() const { return size_; }

  /// The position of a search trial; nothing if it is not committed.
  std::optional<CommitPosition> position_of(TrialNumber number) const {
    const auto found = searched_.find(number);
    return found == searched_.end() ? std::nullopt : std::optional(found->second);
  }
  /// Whether the trial is committed. A full training with another budget is another one.
  bool contains(TrialName name, const Budget& budget) const {
    return name.is_final ? trained_.contains({name.number, budget.epochs}) : searched_.contains(name.number);
  }
  bool contains(const Trial& trial) const { return contains(trial.name(), trial.budget()); }

 private:
  CommitPosition size_ = 0;
  std::map<TrialNumber, CommitPosition> searched_;
  std::set<std::pair<TrialNumber, double>> trained_;  // full trainings with their epochs
};

}  // namespace skyline::trial
