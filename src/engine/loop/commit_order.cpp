#include "engine/loop/commit_order.hpp"

#include "skyline/core/error.hpp"

#include <algorithm>
#include <limits>

namespace skyline::engine {

CommitOrder::CommitOrder(std::optional<std::size_t> window) : window_(window) {
  require(!window_ || *window_ > 0, "a window of 0 trials");
}

std::size_t CommitOrder::room(std::size_t untold) const {
  if (window_) return *window_ - in_flight() - untold;
  return in_flight() + untold == 0 ? std::numeric_limits<std::size_t>::max() : 0;
}

AskedTrial CommitOrder::asked(trial::Trial trial) {
  require(!window_ || room() > 0, "more trials were asked than the window allows");
  const auto [found, is_new] = places_.try_emplace(trial.name());
  require(is_new, "a trial is asked for while it is in flight");
  const CommitKey place{end_of(trial), asked_++};
  auto record = std::make_shared<trial::CommittedTrial>(trial::CommittedTrial{std::move(trial), {}, {}});
  AskedTrial shared(record, &record->trial);
  found->second = entries_.emplace(place, Entry{std::move(record)}).first;
  return shared;
}

void CommitOrder::arrived(Arrival arrival) {
  const auto found = places_.find(arrival.trial);
  require(found != places_.end(), "a result arrived for a trial that does not wait for one");
  Entry& entry = found->second->second;
  require(!entry.has_result, "a result arrived for a trial that has one");
  entry.committed->outcome = std::move(arrival.outcome);
  entry.committed->timing = arrival.timing;
  entry.has_result = true;
  ++waiting_;
  entry.replayed = arrival.replayed;
}

const trial::Trial* CommitOrder::due() const {
  return entries_.empty() ? nullptr : &entries_.begin()->second.committed->trial;
}

std::optional<NextCommit> CommitOrder::next(const std::optional<trial::TrialName>& recorded) {
  if (entries_.empty()) return std::nullopt;
  auto turn = entries_.begin();
  if (recorded) {
    const auto found = places_.find(*recorded);
    require(found != places_.end(), "the trial of a journal's line is not in flight");
    turn = found->second;
  }
  if (!turn->second.has_result) return std::nullopt;
  const VirtualTime end = turn->first.first;
  NextCommit next{std::move(turn->second.committed), turn->second.replayed};
  entries_.erase(turn);
  --waiting_;
  places_.erase(next.committed->trial.name());
  committed(end);
  return next;
}

std::vector<std::shared_ptr<const trial::CommittedTrial>> CommitOrder::take_waiting() {
  std::vector<std::shared_ptr<const trial::CommittedTrial>> waiting;
  for (auto& [place, entry] : entries_) {
    if (!entry.has_result || entry.replayed || std::exchange(entry.is_given_out, true)) continue;
    waiting.push_back(entry.committed);
  }
  return waiting;
}

CommitsByVirtualTime::CommitsByVirtualTime(std::optional<std::size_t> window, std::size_t slots)
    : CommitOrder(window), free_(std::greater<>(), std::vector<VirtualTime>(slots, 0)) {
  require(slots > 0, "commits by virtual time without a virtual slot");
}

/// Returns the end of a trial, whose work its members share.
VirtualTime CommitsByVirtualTime::end_of(const trial::Trial& trial) {
  const VirtualTime start = std::max(now_, free_.top());
  const VirtualTime end = start + std::max<std::uint64_t>(1, trial.cost / trial.members);
  free_.pop();
  free_.push(end);
  return end;
}

std::unique_ptr<CommitOrder> make_commit_order(const EngineOptions& options) {
  const std::optional<std::size_t> window = options.window_trials();
  if (options.commit == CommitBy::kNumber) return std::make_unique<CommitsByNumber>(window);
  return std::make_unique<CommitsByVirtualTime>(window, options.virtual_slots.value());
}

}  // namespace skyline::engine
