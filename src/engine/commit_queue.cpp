#include "engine/commit_queue.hpp"

#include "skyline/core/error.hpp"

#include <limits>
#include <utility>

namespace skyline::engine {

CommitQueue::CommitQueue(std::optional<std::size_t> window) : window_(window) {
  require(!window_ || *window_ > 0, "a window of 0 trials");
}

std::size_t CommitQueue::room() const {
  if (window_) return *window_ - entries_.size();
  return entries_.empty() ? std::numeric_limits<std::size_t>::max() : 0;
}

void CommitQueue::asked(objective::Trial trial) {
  require(trial.number == next_number(), "trials are not numbered in the order of asking");
  require(!window_ || room() > 0, "more trials were asked than the window allows");
  entries_.push_back({std::move(trial), std::nullopt});
}

void CommitQueue::arrived(Arrival arrival) {
  require(arrival.number >= committed_ && arrival.number < next_number(),
          "a result arrived for a trial that is not in flight");
  Entry& entry = entries_[arrival.number - committed_];
  require(!entry.arrival, "a second result arrived for a trial");
  entry.arrival = std::move(arrival);
}

std::optional<objective::CommittedTrial> CommitQueue::next() {
  if (entries_.empty() || !entries_.front().arrival) return std::nullopt;
  Entry entry = std::move(entries_.front());
  entries_.pop_front();
  ++committed_;
  return objective::CommittedTrial{std::move(entry.trial), std::move(entry.arrival->outcome),
                                   entry.arrival->timing};
}

std::vector<objective::CommittedTrial> CommitQueue::waiting() const {
  std::vector<objective::CommittedTrial> results;
  for (const Entry& entry : entries_) {
    if (entry.arrival) results.push_back({entry.trial, entry.arrival->outcome, entry.arrival->timing});
  }
  return results;
}

}  // namespace skyline::engine
