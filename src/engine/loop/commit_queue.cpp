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
  require(trial.number == next_number(), "trials are not numbered in the order of asking");
  require(!window_ || room() > 0, "more trials were asked than the window allows");
  entries_.push_back({std::move(trial), std::nullopt, false});
}

void CommitQueue::recorded(trial::CommittedTrial recorded) {
  require(recorded.trial.number == next_number(), "a recorded trial is out of its order");
  Arrival arrival{recorded.trial.number, std::move(recorded.outcome), recorded.timing};
  entries_.push_back({std::move(recorded.trial), std::move(arrival), true});
  ++recorded_;
}

void CommitQueue::arrived(Arrival arrival) {
  require(arrival.number >= committed_ && arrival.number < next_number(),
          "a result arrived for a trial that is not in flight");
  Entry& entry = entries_[arrival.number - committed_];
  require(!entry.arrival, "a second result arrived for a trial");
  entry.arrival = std::move(arrival);
}

std::optional<trial::CommittedTrial> CommitQueue::next() {
  if (entries_.empty() || !entries_.front().arrival) return std::nullopt;
  Entry entry = std::move(entries_.front());
  entries_.pop_front();
  if (entry.recorded) --recorded_;
  ++committed_;
  return trial::CommittedTrial{std::move(entry.trial), std::move(entry.arrival->outcome),
                               entry.arrival->timing};
}

}  // namespace skyline::engine
