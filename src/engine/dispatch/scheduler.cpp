#include "engine/dispatch/scheduler.hpp"

#include "skyline/core/error.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

namespace skyline::engine {
namespace {

constexpr std::size_t kMostOfASlot = 64;  // most trials of a slot at a time
constexpr double kMemory = 0.95;          // weight of the past when times are learned
constexpr int kTriedThere = 2;            // reluctance of a host on which the trial has failed
constexpr int kLastThere = 3;             // reluctance of the host on which it failed last

}  // namespace

Scheduler::Scheduler(RankTable ranks, double prefetch_s) : ranks_(std::move(ranks)), prefetch_s_(prefetch_s) {
  std::map<std::string, std::size_t> first_ranks;
  for (std::size_t rank = 0; rank < ranks_.slots.size(); ++rank) {
    host_of_.push_back(first_ranks.try_emplace(ranks_.hosts[rank], rank).first->second);
    first_slot_.push_back(slots_.size());
    for (std::size_t slot = 0; slot < ranks_.slots[rank]; ++slot) {
      slots_.push_back({.rank = rank, .slot = slot, .trials = {}});
      open_.emplace(0, slot, rank);
    }
  }
  require(!slots_.empty(), "a run without slots");
  count_ranks();
}

/// Counts the ranks that train, in all and at most for one group.
void Scheduler::count_ranks() {
  const auto trains = [](std::size_t slots) { return slots > 0; };
  training_ranks_ = static_cast<std::size_t>(std::ranges::count_if(ranks_.slots, trains));
  if (training_ranks_ > 0) ranks_for_groups_ = ranks_for_groups(ranks_);
}

void Scheduler::check_ranks() const {
  if (training_ranks_ == 0) throw FaultError("no rank is left that trains");
}

void Scheduler::expect_more(bool more) {
  if (std::exchange(more_to_come_, more) == more) return;
  for (const auto& [turn, single] : std::exchange(singles_, {})) {
    singles_.emplace(turn_of(single.cost, turn.second), single);
  }
}

Scheduler::Turn Scheduler::turn_of(double cost, trial::TrialName trial) const {
  return {more_to_come_ ? 0 : -cost, trial};
}

void Scheduler::submit(trial::TrialName trial, const TrialWork& work) {
  require(std::isfinite(work.cost) && work.cost > 0, "a trial's predicted cost is not positive and finite");
  check_ranks();
  if (work.alone) {
    alone_.emplace_back(trial, work);
  } else if (work.members == 1) {
    singles_.emplace(turn_of(work.cost, trial),
                     Single{work.cost, work.tried_on, least_reluctance(work.tried_on)});
    if (!work.tried_on.empty()) ++avoiding_;
  } else {
    wait({.cost = work.cost, .trial = trial, .members = work.members, .tried_on = work.tried_on});
  }
}

/// Adds a group, with the number of ranks that it needs.
void Scheduler::wait(const Waiting& waiting) {
  Waiting group = waiting;
  group.ranks = ranks_of_group(group.members, ranks_for_groups_);
  groups_.insert(group);
  may_hold_ = true;
}

std::optional<Scheduler::Start> Scheduler::next() {
  if (runs_alone_) return std::nullopt;
  if (auto group = next_group()) return group;
  if (auto single = next_single()) return single;
  return next_alone();
}

/// Changes a slot, and keeps `open_` consistent.
template <typename Change>
void Scheduler::change(Slot& slot, Change&& make) {
  auto entry = open_.extract({slot.load, slot.slot, slot.rank});
  make();
  if (slot.trials.empty()) slot.load = 0;  // removes rounding errors
  const bool is_closed = ranks_.slots[slot.rank] == 0;
  if (is_closed || slot.held || slot.trials.size() >= kMostOfASlot) return;
  if (entry.empty()) {
    open_.emplace(slot.load, slot.slot, slot.rank);
  } else {
    entry.value() = {slot.load, slot.slot, slot.rank};
    open_.insert(std::move(entry));
  }
}

void Scheduler::put(Slot& slot, trial::TrialName trial, double cost) {
  change(slot, [&] {
    slot.held = false;
    slot.trials.emplace_back(trial, cost);
    slot.load += cost;
  });
  ++under_way_;
}

Scheduler::Start Scheduler::start_group(const Hold& hold) {
  const double cost = hold.group.cost / static_cast<double>(hold.ranks.size());
  for (const std::size_t rank : hold.ranks) put(slot_of(rank, 0), hold.group.trial, cost);
  return {hold.group.trial, {hold.ranks, 0}};
}

/// Makes the first groups each hold the block that is free first, while there are blocks that no group holds.
/// One that has failed may have to wait for a block of another host, and lets others pass.
void Scheduler::hold_blocks() {
  if (!std::exchange(may_hold_, false)) return;
  for (auto group = groups_.begin(); group != groups_.end();) {
    std::optional<Block> block = best_block(*group);
    if (!block && group->tried_on.empty()) return;
    if (!block) {
      ++group;
      continue;
    }
    holds_.push_back({*group, *std::move(block)});
    group = groups_.erase(group);
    for (const std::size_t rank : holds_.back().ranks) {
      Slot& slot = slot_of(rank, 0);
      change(slot, [&] { slot.held = true; });
    }
  }
}

std::optional<Block> Scheduler::best_block(const Waiting& group) {
  std::optional<Block> best;
  double least = 0;
  int least_reluctant = kLastThere;
  for (Block& block : blocks_of(ranks_, group.ranks)) {
    double load = 0;
    bool held = false;
    int reluctant = 0;
    for (const std::size_t rank : block) {
      held |= slot_of(rank, 0).held;
      load = std::max(load, slot_of(rank, 0).load);
      reluctant = std::max(reluctant, std::min(kLastThere, reluctance(group.tried_on, rank)));
    }
    if (reluctant < least_reluctant) best.reset();  // even if this one is held, the group waits for it
    least_reluctant = std::min(least_reluctant, reluctant);
    if (held || reluctant > least_reluctant || (best && load >= least)) continue;
    best = std::move(block);
    least = load;
  }
  return best;
}

std::optional<Scheduler::Start> Scheduler::next_group() {
  const auto is_free = [&](const Hold& hold) {
    return std::ranges::all_of(hold.ranks, [&](std::size_t rank) { return slot_of(rank, 0).trials.empty(); });
  };
  auto found = std::ranges::find_if(holds_, is_free);
  if (found == holds_.end()) {  // otherwise all that can begin now do so before busy blocks are held
    hold_blocks();
    found = std::ranges::find_if(holds_, is_free);
  }
  if (found == holds_.end()) return std::nullopt;
  const Hold hold = *found;
  holds_.erase(found);
  may_hold_ = true;
  return start_group(hold);
}

/// Returns how little a rank is wanted for a trial.
int Scheduler::reluctance(const std::vector<std::size_t>& tried_on, std::size_t rank) const {
  if (tried_on.empty()) return 0;
  if (tried_on.back() == rank) return kLastThere + 1;
  const auto is_there = [&](std::size_t tried) { return host_of_[tried] == host_of_[rank]; };
  if (is_there(tried_on.back())) return kLastThere;
  if (std::ranges::any_of(tried_on, is_there)) return kTriedThere;
  return in_doubt_.contains(ranks_.hosts[rank]) ? 1 : 0;
}

/// Returns how little the rank that trains and is wanted most is wanted for a trial.
int Scheduler::least_reluctance(const std::vector<std::size_t>& tried_on) const {
  int least = tried_on.empty() ? 0 : kLastThere + 1;
  for (std::size_t rank = 0; least > 0 && rank < ranks_.slots.size(); ++rank) {
    if (ranks_.slots[rank] > 0) least = std::min(least, reluctance(tried_on, rank));
  }
  return least;
}

/// Finds again where trials that have failed may go.
void Scheduler::update_reluctances() {
  for (auto& [turn, single] : singles_) single.least = least_reluctance(single.tried_on);
}

void Scheduler::set_in_doubt(const std::string& host, bool in_doubt) {
  const bool changed = in_doubt ? in_doubt_.insert(host).second : in_doubt_.erase(host) > 0;
  if (!changed) return;
  may_hold_ = true;
  update_reluctances();
}

/// Returns the single trial that goes next to a rank, if it costs no more; the end if none does.
Scheduler::Singles::const_iterator Scheduler::choose_single(double most, std::size_t rank) const {
  auto chosen = singles_.lower_bound(turn_of(most, {}));
  const auto avoids = [&](const Single& single) { return reluctance(single.tried_on, rank) > single.least; };
  while (chosen != singles_.end() && avoids(chosen->second)) ++chosen;
  return chosen != singles_.end() && chosen->second.cost <= most ? chosen : singles_.end();
}

std::optional<Scheduler::Start> Scheduler::next_single() {
  if (singles_.empty()) return std::nullopt;
  for (const auto& [load, slot, rank] : open_) {
    double most = std::numeric_limits<double>::infinity();
    if (load > 0) {
      const std::optional<double> rate = seconds_per_cost();
      if (!rate) return std::nullopt;
      most = prefetch_s_ / *rate - load;
    }
    const auto chosen = choose_single(most, rank);
    if (chosen != singles_.end()) return start_single(chosen, {{rank}, slot});
    if (avoiding_ == 0) break;  // otherwise one that avoids this rank may go to the next rank
  }
  return std::nullopt;
}

Scheduler::Start Scheduler::start_single(Singles::const_iterator chosen, const Placement& place) {
  const trial::TrialName trial = chosen->first.second;
  const Single single = chosen->second;
  singles_.erase(chosen);
  if (!single.tried_on.empty()) --avoiding_;
  put(slot_of(place.ranks.front(), place.slot), trial, single.cost);
  return {trial, place};
}

std::optional<Scheduler::Start> Scheduler::next_alone() {
  if (!nothing_waits() || under_way_ > 0 || alone_.empty()) return std::nullopt;
  auto [trial, work] = alone_.front();
  alone_.pop_front();
  work.alone = false;
  submit(trial, work);
  const auto started = work.members > 1 ? next_group() : next_single();
  runs_alone_ = started.has_value();
  return started;
}

void Scheduler::ended(trial::TrialName trial, std::size_t rank, std::size_t slot_index, double seconds) {
  Slot& slot = slot_of(rank, slot_index);
  const auto found = std::ranges::find(slot.trials, trial, &decltype(slot.trials)::value_type::first);
  if (found == slot.trials.end()) return;
  const double cost = found->second;
  change(slot, [&] {
    slot.load -= cost;
    slot.trials.erase(found);
  });
  if (--under_way_ == 0) runs_alone_ = false;
  if (seconds <= 0) return;
  seconds_ = kMemory * seconds_ + seconds;
  cost_ = kMemory * cost_ + cost;
}

std::optional<double> Scheduler::forecast_s(double cost) const {
  const std::optional<double> rate = seconds_per_cost();
  return rate ? std::optional(*rate * cost) : std::nullopt;
}

std::optional<double> Scheduler::seconds_per_cost() const {
  return cost_ > 0 ? std::optional(seconds_ / cost_) : std::nullopt;
}

/// Makes groups that hold blocks wait like the others again.
void Scheduler::release_holds() {
  for (const Hold& hold : holds_) {
    for (const std::size_t rank : hold.ranks) {
      Slot& slot = slot_of(rank, 0);
      change(slot, [&] { slot.held = false; });
    }
    groups_.insert(hold.group);
  }
  holds_.clear();
}

void Scheduler::close(std::size_t rank) {
  ranks_.slots[rank] = 0;
  for (std::size_t i = first_slot_[rank]; i < slots_.size() && slots_[i].rank == rank; ++i) {
    change(slots_[i], [] {});
  }
  count_ranks();
}

void Scheduler::lose(std::size_t rank) {
  release_holds();
  close(rank);
  for (std::size_t i = first_slot_[rank]; i < slots_.size() && slots_[i].rank == rank; ++i) {
    under_way_ -= slots_[i].trials.size();
    slots_[i].trials.clear();
  }
  if (under_way_ == 0) runs_alone_ = false;
  if (!nothing_waits() || !alone_.empty()) check_ranks();
  update_reluctances();
  for (const Waiting& group : std::exchange(groups_, {})) wait(group);
}

bool Scheduler::trains_beside(const std::string& host) const {
  for (std::size_t rank = 0; rank < ranks_.slots.size(); ++rank) {
    if (ranks_.slots[rank] > 0 && ranks_.hosts[rank] != host) return true;
  }
  return false;
}

bool Scheduler::retire(const std::string& host) {
  if (!trains_beside(host)) return false;
  release_holds();
  for (std::size_t rank = 0; rank < ranks_.slots.size(); ++rank) {
    if (ranks_.hosts[rank] == host) close(rank);
  }
  update_reluctances();
  for (const Waiting& group : std::exchange(groups_, {})) wait(group);
  return true;
}

std::vector<trial::TrialName> Scheduler::drop_waiting() {
  release_holds();
  std::vector<trial::TrialName> dropped;
  for (const auto& [turn, single] : singles_) dropped.push_back(turn.second);
  for (const Waiting& group : groups_) dropped.push_back(group.trial);
  for (const auto& [trial, work] : alone_) dropped.push_back(trial);
  singles_.clear();
  avoiding_ = 0;
  groups_.clear();
  alone_.clear();
  return dropped;
}

}  // namespace skyline::engine
