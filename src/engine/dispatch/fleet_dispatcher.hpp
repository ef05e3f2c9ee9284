#pragma once

#include "engine/dispatch/failure_detector.hpp"
#include "engine/dispatch/fleet_channel.hpp"
#include "engine/dispatch/host_records.hpp"
#include "engine/dispatch/scheduler.hpp"
#include "engine/slots/result_keeper.hpp"
#include "engine/slots/slot_pool.hpp"
#include "engine/work/dispatcher.hpp"
#include "engine/work/engine_options.hpp"
#include "run/run_state.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace skyline::engine {

/// What rank 0 knows about the fleet: the slots of all ranks.
struct FleetOptions {
  const EngineOptions& engine;  // outlives the fleet, like the next one
  const RunFiles& files;
  RankTable ranks;
  std::set<trial::TrialName> alone = {};                      // trials that train only when no other does
  const std::vector<run::RunListener*>* listeners = nullptr;  // notified about losses and new attempts
  std::vector<RankProcess> processes = {};                    // [ranks], if the run survives lost ranks
};

/// Rank 0's side of a fleet: sends trials to the slots that the scheduler chooses, and takes their results.
/// docs/internals/engine.md describes the protocol.
class FleetDispatcher final : public Dispatcher {
 public:
  /// If the launcher lets survivors live, trials of a lost rank go to other ranks. The referenced objects
  /// must outlive the dispatcher.
  FleetDispatcher(FleetChannel& mail, FleetOptions options, SlotPool& own_slots, ResultKeeper& results);

  void submit(std::span<const AskedTrial> trials) override;
  void expect_more(bool more) override { scheduler_.expect_more(more); }
  /// Polls. @throws FaultError if no rank is left that trains
  std::span<Arrival> poll() override;
  void stop() override;
  bool idle() const override { return scheduler_.idle() && trials_.empty(); }
  /// Returns whether another rank wants the run to stop.
  bool stop_wanted() const { return stop_wanted_; }
  bool lost_ranks() const { return lost_ranks_; }
  /// Returns the hosts that get no more trials, each with the reason: "has lost 3 ranks".
  const std::map<std::string, std::string>& retired() const { return retired_; }
  /// Ends the other ranks and waits until they have written all their files, calling `check` between polls.
  /// @pre idle()
  void finish(const std::function<void()>& check);

 private:
  struct Submitted {
    AskedTrial trial;
    std::uint32_t attempt = 0;
    std::uint32_t losses = 0;             // number of ranks that had it and were lost
    std::uint32_t tried = 0;              // see Assignment
    bool alone = false;                   // it has filled a disk, and trains when no other trial does
    bool stuck = false;                   // its second try, or a later one, does not end
    std::optional<Placement> place = {};  // no value while it waits
    std::uint64_t sequence = 0;           // sequence number of its group
    std::vector<store::FailedTry> failed_tries = {};
    std::set<std::string> failing_hosts = {};  // hosts on which its program has failed
    std::vector<std::size_t> tried_on = {};    // see TrialWork
  };

  int ranks() const { return static_cast<int>(options_.ranks.slots.size()); }
  void receive_own_results();
  void receive_messages();
  void arrived(Arrival arrival);
  void send_journalled();
  void start(const Scheduler::Start& start);
  void warn_of_crowd(const GroupPlace& group);
  void warn_of_time(const Submitted& submitted, std::size_t ranks);
  void tell_all(MessageKind kind);
  void submit(trial::TrialName name, const Submitted& submitted);
  void submit_again(trial::TrialName name, Submitted& submitted);
  void fail_if_filled(Arrival& arrival, const Submitted& submitted);
  std::set<std::string> hosts_of(const Placement& place) const;
  bool may_fail_by_its_host(const Submitted& submitted) const;
  void judge(Arrival& arrival, const Submitted& submitted);
  void keep(const Arrival& arrival, const Submitted& submitted);
  void judge_host(const std::string& host);
  void try_again(const Arrival& arrival);
  void mark_stuck(trial::TrialName name);
  void handle_lost_ranks();
  void lose(const FailureDetector::Loss& loss);
  void end_process(int rank);
  void retire(const std::string& host, const std::string& deed);
  void give_up_group(const Submitted& submitted);
  void send_again(trial::TrialName name);

  FleetChannel& mail_;
  const FleetOptions options_;
  SlotPool& own_slots_;
  ResultKeeper& results_;
  Scheduler scheduler_;
  std::unordered_map<trial::TrialName, Submitted> trials_;  // trials without a result
  std::unordered_map<trial::TrialName, int> holders_;       // ranks with results that may not be durable yet
  std::vector<Arrival> arrivals_;                           // results of the last poll
  std::uint64_t groups_ = 0;                                // number of groups so far
  bool warned_of_crowd_ = false;
  bool warned_of_time_ = false;
  bool stop_wanted_ = false;
  bool stopping_ = false;
  bool ending_ = false;
  bool lost_ranks_ = false;
  std::set<int> gone_;  // ranks that have closed, or are lost
  std::map<std::string, int> losses_of_host_;
  HostRecords records_;
  std::map<std::string, std::string> retired_;
  std::optional<FailureDetector> watch_;
};

/// The other ranks' side: trains the trials that rank 0 sends, until rank 0 ends the run.
class FleetWorker {
 public:
  /// The referenced objects must outlive the worker.
  /// @param stop_requested  returns whether this rank wants the run to stop; empty for never
  /// @param coordinator     process of rank 0
  /// @param ranks           number of ranks of the run
  FleetWorker(FleetChannel& mail, SlotPool& own_slots, ResultKeeper& results,
              std::function<bool()> stop_requested, const RankProcess& coordinator, int ranks);
  /// @param check           called between polls, for the rank's other work
  /// @param all_is_written  returns whether nothing is left to do at the end
  /// @throws FaultError if rank 0 has failed or is lost
  void serve(const std::function<void()>& check, const std::function<bool()>& all_is_written);
  /// Tells rank 0 that this rank has finished.
  void close();

 private:
  bool receive_messages();
  bool send_results();
  void end_if_stuck();
  void ask_for_stop();
  void send_heartbeat();

  FleetChannel& mail_;
  SlotPool& own_slots_;
  ResultKeeper& results_;
  const std::function<bool()> stop_requested_;
  const int ranks_;
  FailureDetector watch_;  // looks whether rank 0's process has ended
  double told_alive_s_ = 0;
  bool asked_for_stop_ = false;
  bool ended_ = false;
};

}  // namespace skyline::engine
