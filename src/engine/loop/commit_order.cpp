#include "engine/loop/commit_order.hpp"

#include "skyline/core/error.hpp"

#include <limits>
#include <memory>
#include <utility>

namespace skyline::engine {

CommitsByNumber::CommitsByNumber(std::optional<std::size_t> window) : window_(window) {
  require(!window_ || *window_ > 0, "a window of 0 trials");
}

std::size_t CommitsByNumber::room() const {
  const std::size_t asked = entries_.size() - recorded_;
  if (window_) return *window_ - asked;
  return asked == 0 ? std::numeric_limits<std::size_t>::max() : 0;
}

void CommitsByNumber::asked(const trial::Trial& trial) {
  require(!window_ || room() > 0, "more trials were asked than the window allows");
  const bool is_new = waiting_.emplace(trial.name(), end()).second;
  require(is_new, "a trial is asked for while it is in flight");
  entries_.push_back({trial, std::nullopt});
}

void CommitsByNumber::recorded(trial::CommittedTrial line) {
  Arrival arrival{line.trial.name(), std::move(line.outcome), line.timing};
  arrival.replayed = true;
  entries_.push_back({std::move(line.trial), std::move(arrival), false});
  ++recorded_;
}

void CommitsByNumber::arrived(Arrival arrival) {
  const auto found = waiting_.find(arrival.trial);
  require(found != waiting_.end(), "a result arrived for a trial that does not wait for one");
  entries_[found->second - committed_].arrival = std::move(arrival);
  waiting_.erase(found);
}

std::optional<run::Commit> CommitsByNumber::next() {
  if (entries_.empty() || !entries_.front().arrival) return std::nullopt;
  Entry entry = std::move(entries_.front());
  entries_.pop_front();
  if (!entry.takes_room) --recorded_;
  const bool replayed = entry.arrival->replayed;
  trial::CommittedTrial committed{std::move(entry.trial), std::move(entry.arrival->outcome),
                                  entry.arrival->timing, committed_++};
  return run::Commit{std::make_shared<const trial::CommittedTrial>(std::move(committed)), replayed};
}

}  // namespace skyline::engine
