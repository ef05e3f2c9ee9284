#include "engine/loop/commit_queue.hpp"

#include "skyline/core/error.hpp"

#include <limits>
#include <utility>

namespace skyline::engine {

CommitQueue::CommitQueue(std::optional<std::size_t> window) : window_(window) {
  require(!window_ || *window_ > 0, "a window of 0 trials");
}

std::size_t CommitQueue::room() const {
  const std::size_t asked = entries_.size() - recorded_;
  if (window_) return *window_ - asked;
  return asked == 0 ? std::numeric_limits<std::size_t>::max() : 0;
}

void CommitQueue::asked(trial::Trial trial) {
  require(!window_ || room() > 0, "more trials were asked than the window allows");
  const bool is_new = waiting_.emplace(trial.name(), next_position()).second;
  require(is_new, "a trial is asked for while it is in flight");
  entries_.push_back({std::move(trial), std::nullopt, false});
}

void CommitQueue::recorded(trial::CommittedTrial recorded) {
  Arrival arrival{recorded.trial.name(), std::move(recorded.outcome), recorded.timing};
  entries_.push_back({std::move(recorded.trial), std::move(arrival), true});
  ++recorded_;
}

void CommitQueue::arrived(Arrival arrival) {
  const auto found = waiting_.find(arrival.trial);
  require(found != waiting_.end(), "a result arrived for a trial that does not wait for one");
  entries_[found->second - committed_].arrival = std::move(arrival);
  waiting_.erase(found);
}

std::optional<trial::CommittedTrial> CommitQueue::next() {
  if (entries_.empty() || !entries_.front().arrival) return std::nullopt;
  Entry entry = std::move(entries_.front());
  entries_.pop_front();
  if (entry.recorded) --recorded_;
  return trial::CommittedTrial{std::move(entry.trial), std::move(entry.arrival->outcome),
                               entry.arrival->timing, committed_++};
}

}  // namespace skyline::engine
