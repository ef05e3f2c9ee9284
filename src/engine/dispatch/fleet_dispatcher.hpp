#pragma once

#include "skyline/trial/evaluator.hpp"

#include "engine/dispatch/dispatcher.hpp"
#include "engine/dispatch/fleet_mail.hpp"
#include "engine/dispatch/scheduler.hpp"
#include "engine/slots/result_keeper.hpp"
#include "engine/slots/slot_pool.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace skyline::engine {

/// What rank 0 knows of the fleet: the slots of all ranks.
struct FleetOptions {
  RankTable ranks;
  std::string members_key = {};           // EngineOptions
  std::set<trial::TrialName> alone = {};  // trials that train when no other does
};

/// Rank 0's side of a fleet: sends trials to the slots where the scheduler wants them, and takes their
/// results. docs/internals/engine.md has the protocol.
class FleetDispatcher final : public Dispatcher {
 public:
  /// References outlive the dispatcher.
  FleetDispatcher(FleetMail& mail, FleetOptions options, const trial::Evaluator& evaluator,
                  SlotPool& own_slots, ResultKeeper& results);

  void submit(std::span<const trial::Trial> trials) override;
  void expect_more(bool more) override { scheduler_.expect_more(more); }
  std::vector<Arrival> poll() override;
  void stop() override;
  bool idle() const override { return scheduler_.idle() && trials_.empty(); }
  /// Whether another rank wants the run to stop.
  bool stop_wanted() const { return stop_wanted_; }
  /// Sends the other ranks home and waits until they have written all their files, calling `check` between
  /// polls. @pre idle()
  void finish(const std::function<void()>& check);

 private:
  int ranks() const { return static_cast<int>(options_.ranks.slots.size()); }
  void take_own(std::vector<Arrival>& arrivals);
  void take_letters(std::vector<Arrival>& arrivals);
  void arrived(Arrival arrival, std::vector<Arrival>& arrivals);
  void send_journalled();
  void start(const Scheduler::Start& start);
  void warn_of_crowd(const GroupPlace& group);
  void tell_all(MailKind kind);

  FleetMail& mail_;
  const FleetOptions options_;
  const trial::Evaluator& evaluator_;
  SlotPool& own_slots_;
  ResultKeeper& results_;
  Scheduler scheduler_;
  std::map<trial::TrialName, trial::Trial> trials_;  // submitted, without a result
  std::map<trial::TrialName, int> holders_;          // ranks with results that are not known to be durable
  std::uint64_t groups_ = 0;                         // so far
  bool warned_of_crowd_ = false;
  bool stop_wanted_ = false;
  int closed_ = 0;  // ranks
};

/// The other ranks' side: trains what rank 0 sends until it sends them home.
class FleetWorker {
 public:
  /// References outlive the worker.
  /// @param stop_requested  whether this rank wants the run to stop; empty: never
  FleetWorker(FleetMail& mail, SlotPool& own_slots, ResultKeeper& results,
              std::function<bool()> stop_requested);
  /// @param check           called between polls: looks after the rest of the rank
  /// @param all_is_written  whether nothing is left to do at the end
  void serve(const std::function<void()>& check, const std::function<bool()>& all_is_written);
  /// Tells rank 0 that this rank has done.
  void close();

 private:
  bool take_letters();
  bool send_results();
  void ask_for_stop();

  FleetMail& mail_;
  SlotPool& own_slots_;
  ResultKeeper& results_;
  const std::function<bool()> stop_requested_;
  bool asked_for_stop_ = false;
  bool ended_ = false;
};

}  // namespace skyline::engine
