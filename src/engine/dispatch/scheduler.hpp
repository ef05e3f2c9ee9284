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

/// The facts about a trial that decide where and when it trains.
struct TrialWork {
  double cost = 0;  // predicted cost, positive and finite
  std::uint32_t members = 1;
  bool alone = false;  // it trains only when no other trial waits or runs
  /// Ranks on which it has failed, the last one last. It goes to another host if one trains, of these to one
  /// that is not in doubt, else to one that was not the last, else to another rank than the last.
  std::vector<std::size_t> tried_on = {};
};

/// Decides which trial trains next in which slot. Its input are events, its output is "trial k to slot s". It
/// knows neither MPI nor a clock, so that a simulated fleet can use it. Deterministic.
///
/// A free slot gets the waiting trial with the longest forecast (among equal ones the lowest number), so that
/// all end at about the same time. While more trials are expected, the lowest number goes first; otherwise a
/// short trial could wait for ever behind new long ones and block all later commits. Trials of groups come
/// first, the widest and then the longest: each holds a block of ranks, whose first slots get nothing else
/// until all of them are free. Busy slots are only sent trials of milliseconds: a trial that waits behind a
/// long one could run elsewhere.
class Scheduler {
 public:
  struct Start {
    trial::TrialName trial;
    Placement place;
  };

  /// @param ranks       the ranks that train
  /// @param prefetch_s  a busy slot gets more trials as long as the forecast for all it has is less; 0 for
  ///                    never
  Scheduler(RankTable ranks, double prefetch_s);

  /// Says whether more trials will come while these wait. Initially none are expected.
  void expect_more(bool more);
  /// Adds a trial. @pre none of that name waits or runs.
  /// @throws FaultError if no rank is left that trains
  void submit(trial::TrialName trial, const TrialWork& work);
  /// Returns the next trial to send now; call it until there is none.
  std::optional<Start> next();
  /// Notes that a slot has done its part of a trial; a second call for the same part does nothing.
  /// @param seconds  its time, for the forecast of later trials; 0 if unknown
  void ended(trial::TrialName trial, std::size_t rank, std::size_t slot, double seconds);
  /// Notes that a rank is lost: its slots get nothing any more. Its trials are forgotten, and may be
  /// submitted again, even while slots of other ranks still work on a group's trial.
  /// @throws FaultError if trials wait and no other rank trains
  void lose(std::size_t rank);
  /// Gives the ranks of a host no more work; their present work continues. Returns false and changes nothing
  /// if no rank of another host trains.
  bool retire(const std::string& host);
  /// Says whether failures on a host may be the host's: trials that have failed elsewhere avoid it.
  void set_in_doubt(const std::string& host, bool in_doubt);
  /// Returns whether a rank of another host trains.
  bool trains_beside(const std::string& host) const;
  /// Forgets the trials that have not been sent, and returns them.
  std::vector<trial::TrialName> drop_waiting();
  /// Returns the expected seconds of a trial of one member; nullopt before the first has ended.
  std::optional<double> forecast_s(double cost) const;
  /// Returns whether nothing waits or runs.
  bool idle() const { return nothing_waits() && alone_.empty() && under_way_ == 0; }

 private:
  struct Slot {
    std::size_t rank = 0;
    std::size_t slot = 0;
    bool held = false;  // held for a group
    double load = 0;    // sum of the costs of its trials
    std::deque<std::pair<trial::TrialName, double>> trials;
  };
  /// A waiting trial of one member.
  struct Single {
    double cost = 0;
    std::vector<std::size_t> tried_on = {};
    int least = 0;  // least reluctance of a rank that trains
  };
  /// The order of sending: first by a number (the cost, or 0), then by the name.
  using Turn = std::pair<double, trial::TrialName>;
  using Singles = std::map<Turn, Single>;
  /// A waiting trial of a group.
  struct Waiting {
    double cost = 0;
    trial::TrialName trial;
    std::uint32_t members = 1;
    std::size_t ranks = 1;
    std::vector<std::size_t> tried_on = {};
    /// Returns whether this trial is sent before the other: more ranks first, then the higher cost, then the
    /// smaller name.
    bool operator<(const Waiting& other) const {
      return std::tuple(other.ranks, other.cost, trial) < std::tuple(ranks, cost, other.trial);
    }
  };
  struct Hold {
    Waiting group;
    Block ranks;
  };
  using OpenSlot = std::tuple<double, std::size_t, std::size_t>;  // load, slot, rank

  bool nothing_waits() const { return singles_.empty() && groups_.empty() && holds_.empty(); }
  Slot& slot_of(std::size_t rank, std::size_t slot) { return slots_[first_slot_[rank] + slot]; }
  template <typename Change>
  void change(Slot& slot, Change&& make);
  void put(Slot& slot, trial::TrialName trial, double cost);
  Turn turn_of(double cost, trial::TrialName trial) const;
  Start start_group(const Hold& hold);
  void wait(const Waiting& waiting);
  void release_holds();
  void close(std::size_t rank);
  void count_ranks();
  void update_reluctances();
  void check_ranks() const;
  void hold_blocks();
  std::optional<Block> best_block(const Waiting& group);
  std::optional<Start> next_group();
  int reluctance(const std::vector<std::size_t>& tried_on, std::size_t rank) const;
  int least_reluctance(const std::vector<std::size_t>& tried_on) const;
  Singles::const_iterator choose_single(double most, std::size_t rank) const;
  std::optional<Start> next_single();
  Start start_single(Singles::const_iterator chosen, const Placement& place);
  std::optional<Start> next_alone();
  std::optional<double> seconds_per_cost() const;

  RankTable ranks_;
  std::vector<std::size_t> host_of_;  // [ranks], the first rank of the same host
  std::size_t training_ranks_ = 0;
  std::size_t ranks_for_groups_ = 0;  // number of ranks that may train one trial together
  const double prefetch_s_;
  std::vector<Slot> slots_;
  std::vector<std::size_t> first_slot_;  // index into slots_ of each rank's first slot
  std::set<OpenSlot> open_;              // slots that may get single trials
  bool more_to_come_ = false;
  Singles singles_;
  std::size_t avoiding_ = 0;        // number of single trials that avoid ranks
  std::set<std::string> in_doubt_;  // hosts
  std::set<Waiting> groups_;
  std::vector<Hold> holds_;
  std::deque<std::pair<trial::TrialName, TrialWork>> alone_;
  bool runs_alone_ = false;
  bool may_hold_ = false;      // a group came, or a block was left, since hold_blocks()
  std::size_t under_way_ = 0;  // number of trials in slots; a group's trial counts for each rank
  double seconds_ = 0;         // weighted sum of the last trials' times
  double cost_ = 0;            // the same of their costs
};

}  // namespace skyline::engine
