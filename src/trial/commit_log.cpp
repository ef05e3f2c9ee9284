#include "trial/commit_log.hpp"

#include "skyline/core/error.hpp"

namespace skyline::trial {

CommitPosition CommitLog::add(const Trial& trial) {
  require(!contains(trial), "a trial is committed twice");
  if (trial.is_final()) {
    trained_.insert({trial.number, trial.budget().epochs});
  } else {
    searched_[trial.number] = size_;
  }
  return size_++;
}

std::optional<CommitPosition> CommitLog::position_of(TrialNumber number) const {
  const auto found = searched_.find(number);
  return found == searched_.end() ? std::nullopt : std::optional(found->second);
}

bool CommitLog::contains(TrialName name, const Budget& budget) const {
  return name.is_final ? trained_.contains({name.number, budget.epochs}) : searched_.contains(name.number);
}

}  // namespace skyline::trial
