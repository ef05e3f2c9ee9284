#include "engine/loop/commit_order.hpp"

#include "skyline/core/error.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace skyline::engine {

CommitOrder::CommitOrder(std::optional<std::size_t> window) : window_(window) {
  require(!window_ || *window_ > 0, "a window of 0 trials");
}

std::size_t CommitOrder::room() const {
  if (window_) return *window_ - in_flight();
  return in_flight() == 0 ? std::numeric_limits<std::size_t>::max() : 0;
}

void CommitOrder::asked(const trial::Trial& trial) {
  require(!window_ || room() > 0, "more trials were asked than the window allows");
  const Place place{end_of(trial), asked_++};
  const bool is_new = places_.emplace(trial.name(), place).second;
  require(is_new, "a trial is asked for while it is in flight");
  entries_.emplace(place, Entry{trial, std::nullopt});
}

void CommitOrder::arrived(Arrival arrival) {
  const auto found = places_.find(arrival.trial);
  require(found != places_.end(), "a result arrived for a trial that does not wait for one");
  std::optional<Arrival>& result = entries_.at(found->second).arrival;
  require(!result, "a result arrived for a trial that has one");
  result = std::move(arrival);
}

const trial::Trial* CommitOrder::due() const {
  return entries_.empty() ? nullptr : &entries_.begin()->second.trial;
}

std::optional<NextCommit> CommitOrder::next(const std::optional<trial::TrialName>& recorded) {
  if (entries_.empty()) return std::nullopt;
  auto turn = entries_.begin();
  if (recorded) {
    const auto found = places_.find(*recorded);
    require(found != places_.end(), "the trial of a journal's line is not in flight");
    turn = entries_.find(found->second);
  }
  if (!turn->second.arrival) return std::nullopt;
  const VirtualTime end = turn->first.first;
  Entry entry = std::move(turn->second);
  entries_.erase(turn);
  places_.erase(entry.trial.name());
  committed(end);
  return NextCommit{{std::move(entry.trial), std::move(entry.arrival->outcome), entry.arrival->timing},
                    entry.arrival->replayed};
}

CommitsByVirtualTime::CommitsByVirtualTime(std::optional<std::size_t> window, std::size_t slots)
    : CommitOrder(window), free_(std::greater<>(), std::vector<VirtualTime>(slots, 0)) {
  require(slots > 0, "commits by virtual time without a virtual slot");
}

/// The members of a group share its work.
VirtualTime CommitsByVirtualTime::end_of(const trial::Trial& trial) {
  const VirtualTime start = std::max(now_, free_.top());
  const VirtualTime end = start + std::max<std::uint64_t>(1, trial.cost / trial.members);
  free_.pop();
  free_.push(end);
  return end;
}

/// Never back: a line of an extended run's journal may come before its turn.
void CommitsByVirtualTime::committed(VirtualTime end) {
  now_ = std::max(now_, end);
}

std::unique_ptr<CommitOrder> make_commit_order(const EngineOptions& options) {
  if (!options.virtual_slots) return std::make_unique<CommitsByNumber>(options.window);
  return std::make_unique<CommitsByVirtualTime>(options.window, *options.virtual_slots);
}

}  // namespace skyline::engine
