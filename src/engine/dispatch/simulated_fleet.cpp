#include "engine/dispatch/simulated_fleet.hpp"

#include <algorithm>
#include <cstdint>
#include <string>

namespace skyline::engine {
namespace {

/// Returns ranks of one host, so that a group may be anywhere.
RankTable ranks_of(std::size_t slots) {
  return {.slots = std::vector<std::size_t>(slots, 1),
          .hosts = std::vector<std::string>(slots),
          .processors = std::vector<std::size_t>(slots, 1)};
}

}  // namespace

SimulatedFleet::SimulatedFleet(std::size_t slots, Play play)
    : scheduler_(ranks_of(slots), 0), play_(std::move(play)) {
  use_.slots = slots;
}

std::vector<run::SlotAccount> SimulatedFleet::slots() const {
  std::vector<run::SlotAccount> slots(use_.slots);
  for (std::size_t i = 0; i < slots.size(); ++i) slots[i].rank = static_cast<std::int32_t>(i);
  return slots;
}

void SimulatedFleet::submit(std::span<const AskedTrial> trials) {
  for (const AskedTrial& trial : trials) {
    auto [seconds, outcome] = play_(*trial);
    playing_.emplace(trial->name(), Playing{seconds, std::move(outcome)});
    scheduler_.submit(trial->name(), {static_cast<double>(trial->cost), trial->members});
  }
  start_trials();
}

void SimulatedFleet::start_trials() {
  while (const auto start = scheduler_.next()) {
    Playing& playing = playing_.at(start->trial);
    playing.place = start->place;
    busy_slots_ += start->place.ranks.size();
    ends_.push({now_s_ + playing.seconds, start->trial});
    use_.last_start_s = now_s_;
    use_.busy_to_last_start_s = use_.busy_s;
  }
}

std::span<Arrival> SimulatedFleet::poll() {
  arrivals_.clear();
  while (!ends_.empty() && ends_.top().at_s <= now_s_) {
    const trial::TrialName name = ends_.top().trial;
    ends_.pop();
    auto ended = playing_.extract(name);
    const Placement place = ended.mapped().place;
    busy_slots_ -= place.ranks.size();
    for (const std::size_t rank : place.ranks) scheduler_.ended(name, rank, place.slot, 0);
    Arrival arrival{name, std::move(ended.mapped().outcome), {}};
    arrival.timing.rank = static_cast<std::int32_t>(place.ranks.front());
    arrival.timing.started_s = now_s_ - ended.mapped().seconds;
    arrival.timing.train_s = ended.mapped().seconds;
    arrivals_.push_back(std::move(arrival));
  }
  if (!arrivals_.empty()) start_trials();
  return arrivals_;
}

/// Drops waiting and running trials, because nobody resumes a simulation.
void SimulatedFleet::stop() {
  playing_.clear();
  ends_ = {};
}

void SimulatedFleet::pause() {
  std::optional<double> until_s = std::exchange(wake_s_, std::nullopt);
  if (!ends_.empty()) until_s = std::min(ends_.top().at_s, until_s.value_or(ends_.top().at_s));
  if (until_s) pass(std::max(now_s_, *until_s));
}

void SimulatedFleet::pass(double until_s) {
  use_.busy_s += static_cast<double>(busy_slots_) * (until_s - now_s_);
  use_.wall_s = now_s_ = until_s;
}

}  // namespace skyline::engine
