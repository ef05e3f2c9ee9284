#pragma once

#include "core/clock.hpp"
#include "engine/dispatch/scheduler.hpp"
#include "engine/work/dispatcher.hpp"
#include "run/account.hpp"

#include <cstddef>
#include <functional>
#include <optional>
#include <queue>
#include <span>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

namespace skyline::engine {

/// The use of the slots of a simulated fleet.
struct FleetUse {
  double wall_s = 0;
  double busy_s = 0;                // sum over all slots
  double last_start_s = 0;          // start of the last trial
  double busy_to_last_start_s = 0;  // sum over all slots until then
  std::size_t slots = 0;
  /// Return the share of the time that slots were busy, 0 to 1.
  double in_all() const { return wall_s > 0 ? busy_s / (wall_s * static_cast<double>(slots)) : 0; }
  double to_last_start() const {
    return last_start_s > 0 ? busy_to_last_start_s / (last_start_s * static_cast<double>(slots)) : 1;
  }
};

/// A cluster whose trials take no time: ranks of one slot each, on a simulated clock. It has the scheduler of
/// a real fleet. A pause of its clock lasts until the next trial ends.
class SimulatedFleet final : public Dispatcher, public Clock {
 public:
  /// Returns the seconds of a trial and then its result. Called once per trial.
  using Play = std::function<std::pair<double, trial::Outcome>(const trial::Trial& trial)>;
  SimulatedFleet(std::size_t slots, Play play);

  void submit(std::span<const AskedTrial> trials) override;
  void expect_more(bool more) override { scheduler_.expect_more(more); }
  std::span<Arrival> poll() override;
  void stop() override;
  bool idle() const override { return playing_.empty(); }

  double now_s() const override { return now_s_; }
  void pause() override;
  void worked() override {}

  /// Ends the next pause at this time at the latest.
  void wake_at(double at_s) { wake_s_ = at_s; }

  const FleetUse& use() const { return use_; }
  /// Returns the slots for an account, with all times 0.
  std::vector<run::SlotAccount> slots() const;

 private:
  struct Playing {
    double seconds = 0;
    trial::Outcome outcome;
    Placement place = {};
  };
  struct End {
    double at_s = 0;
    trial::TrialName trial;
    bool operator>(const End& other) const {
      return std::tuple(at_s, trial) > std::tuple(other.at_s, other.trial);
    }
  };

  void start_trials();
  void pass(double until_s);

  Scheduler scheduler_;
  const Play play_;
  double now_s_ = 0;
  std::optional<double> wake_s_;
  std::size_t busy_slots_ = 0;
  std::unordered_map<trial::TrialName, Playing> playing_;  // waiting or running
  std::priority_queue<End, std::vector<End>, std::greater<>> ends_;
  std::vector<Arrival> arrivals_;  // results of the last poll
  FleetUse use_;
};

}  // namespace skyline::engine
