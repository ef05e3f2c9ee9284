#pragma once

#include "skyline/trial/trial.hpp"

#include "engine/work/placement.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

namespace skyline::engine {

/// The part of a trial that decides where and when it trains.
struct TrialWork {
  double cost = 0;  // predicted, positive and finite
  std::uint32_t members = 1;
  bool alone = false;                      // it trains when no other trial waits or is under way
  std::optional<std::size_t> avoids = {};  // a rank that gets it only if no other trains; of groups: ignored
};

/// Decides which trial trains next in which slot: events in, "trial k to slot s" out. It knows neither MPI
/// nor a clock, so that a simulated fleet has the same. Deterministic.
///
/// A slot gets its next trial when it is free: the longest by forecast that waits, of equal ones the one with
/// the lower number, so that all end soon. As long as more trials are to come it is the one with the lowest
/// number: behind ever new long ones a short one would wait, and with it the commits. Trials of groups come
/// first, the widest and then the longest: each holds a block of ranks, whose first slots get nothing else
/// until all of them are free. Only trials of milliseconds are sent to slots that are at work: one that is
/// parked behind a long trial could run elsewhere.
class Scheduler {
 public:
  struct Start {
    trial::TrialName trial;
    Placement place;
  };

  /// @param ranks       those that train
  /// @param prefetch_s  a slot at work is sent more as long as all that it has takes less than this, by
  ///                    forecast; 0: never
  Scheduler(RankTable ranks, double prefetch_s);

  /// Whether more trials come while these wait; at first they don't.
  void expect_more(bool more);
  /// @pre no trial of that name waits or is under way
  /// @throws FaultError if no rank is left that trains
  void submit(trial::TrialName trial, const TrialWork& work);
  /// The next trial that is to go out now; call until there is none.
  std::optional<Start> next();
  /// A slot has done its part of a trial; told twice, it counts once.
  /// @param seconds  that it took, from which later trials are forecast; 0: not known
  void ended(trial::TrialName trial, std::size_t rank, std::size_t slot, double seconds);
  /// A rank is lost: its slots get nothing any more. What it had is forgotten, and may be submitted again,
  /// also where slots of other ranks are still at work on a group's trial.
  /// @throws FaultError if trials wait and no other rank trains
  void lose(std::size_t rank);
  /// The ranks of a host get no more work, as long as those of others train; what they have goes on.
  /// @return  whether that is so
  bool retire(const std::string& host);
  /// Forgets the trials that have not gone out. @return  them
  std::vector<trial::TrialName> drop_waiting();
  /// The seconds that a trial of one member takes, as the last ones did; nothing before the first has ended.
  std::optional<double> forecast_s(double cost) const;
  /// Nothing waits or is under way.
  bool idle() const { return nothing_waits() && alone_.empty() && under_way_ == 0; }

 private:
  struct Slot {
    std::size_t rank = 0;
    std::size_t slot = 0;
    bool held = false;  // for a group
    double load = 0;    // cost of its trials
    std::deque<std::pair<trial::TrialName, double>> trials;
  };
  /// A trial of one member that waits.
  struct Single {
    double cost = 0;
    std::optional<std::size_t> avoids = {};
  };
  /// The order in which they go out: what their cost, or nothing, says first, then the name.
  using Turn = std::pair<double, trial::TrialName>;
  using Singles = std::map<Turn, Single>;
  /// A trial of a group that waits.
  struct Waiting {
    double cost = 0;
    trial::TrialName trial;
    std::uint32_t members = 1;
    std::size_t ranks = 1;
    /// The order in which they go out.
    bool operator<(const Waiting& other) const {
      return std::tuple(other.ranks, other.cost, trial) < std::tuple(ranks, cost, other.trial);
    }
  };
  struct Hold {
    Waiting group;
    std::size_t first_rank = 0;
  };
  using OpenSlot = std::tuple<double, std::size_t, std::size_t>;  // load, slot, rank

  bool nothing_waits() const { return singles_.empty() && groups_.empty() && holds_.empty(); }
  Slot& slot_of(std::size_t rank, std::size_t slot) { return slots_[first_slot_[rank] + slot]; }
  template <typename Change>
  void change(Slot& slot, Change&& make);
  void put(Slot& slot, trial::TrialName trial, double cost);
  Turn turn_of(double cost, trial::TrialName trial) const;
  Start start_group(const Waiting& waiting, const Placement& place);
  void wait(const Waiting& waiting);
  void release_holds();
  bool trains_beside(const std::string& host) const;
  void close(std::size_t rank);
  void look_at_ranks();
  void check_ranks() const;
  void hold_blocks();
  std::optional<std::size_t> best_block(const Waiting& group);
  std::optional<Start> next_group();
  bool may_go(const Single& single, std::size_t rank) const;
  Singles::const_iterator choose_single(double most, std::size_t rank) const;
  std::optional<Start> next_single();
  Start start_single(Singles::const_iterator chosen, const Placement& place);
  std::optional<Start> next_alone();
  std::optional<double> seconds_per_cost() const;

  RankTable ranks_;
  std::size_t training_ranks_ = 0;
  std::size_t ranks_for_groups_ = 0;  // that may train one trial together
  const double prefetch_s_;
  std::vector<Slot> slots_;
  std::vector<std::size_t> first_slot_;  // of each rank, in slots_
  std::set<OpenSlot> open_;              // slots that may get single trials
  bool more_to_come_ = false;
  Singles singles_;
  std::size_t avoiding_ = 0;  // of them: those that avoid a rank
  std::set<Waiting> groups_;
  std::vector<Hold> holds_;
  std::deque<std::pair<trial::TrialName, TrialWork>> alone_;
  bool runs_alone_ = false;
  bool may_hold_ = false;      // a group came, or a block was left, since the last look
  std::size_t under_way_ = 0;  // trials of slots; one of a group counts for each rank
  double seconds_ = 0;         // of the last trials
  double cost_ = 0;            // of the same
};

}  // namespace skyline::engine
