#pragma once

#include "skyline/trial/evaluator.hpp"

#include "comm/communicator.hpp"
#include "engine/dispatch/dispatcher.hpp"
#include "engine/dispatch/packing.hpp"
#include "engine/dispatch/rank_table.hpp"
#include "engine/dispatch/records.hpp"
#include "engine/slots/result_keeper.hpp"
#include "engine/slots/slot_pool.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace skyline::engine {

/// The sizes that both sides of the collective protocol agree on.
struct RoundFormat {
  TrialRecord trial;
  ResultRecord result;
  std::size_t slots = 0;  // most slots of any rank: every rank sends and receives as if it had so many
};

/// Rank 0's side of rounds: a header is broadcast, fixed-size trial records are scattered, and results come
/// back in waves, one gather each; docs/internals/engine.md has the protocol. A round takes what was
/// submitted while the one before was under way. Results of rank 0's own slots take no part in the gathers.
class CollectiveDispatcher final : public Dispatcher {
 public:
  /// References outlive the dispatcher. @param ranks  where trials are trained
  /// @param members_key  EngineOptions
  /// @param alone  trials that get a round of their own, when nothing else waits
  CollectiveDispatcher(comm::Communicator& world, const RoundFormat& format,
                       const trial::Evaluator& evaluator, SlotPool& own_slots, ResultKeeper& results,
                       const RankTable& ranks, std::string members_key,
                       std::set<trial::TrialName> alone = {});
  ~CollectiveDispatcher() override;

  void submit(std::span<const trial::Trial> trials) override;
  std::vector<Arrival> poll() override;
  void stop() override;
  bool idle() const override { return nothing_waits() && round_ == nullptr; }
  /// Sends the other ranks home, which ends their serve_rounds. @pre everything submitted has arrived
  void finish();

 private:
  struct Round;

  bool nothing_waits() const { return waiting_.empty() && waiting_alone_.empty(); }
  std::vector<trial::Trial> take_for_round();
  void start_round();
  void send_header(Round& round);
  void warn_of_crowd(const GroupPlace& group);
  void place(Round& round, const std::vector<trial::Trial>& trials, const RoundPlan& plan);
  void post_gathers(Round& round);
  void receive_gathers(Round& round, std::vector<Arrival>& arrivals);

  comm::Communicator& world_;
  const RoundFormat& format_;
  const trial::Evaluator& evaluator_;
  SlotPool& own_slots_;
  ResultKeeper& results_;
  const RankTable& ranks_;
  const std::string members_key_;
  std::uint64_t groups_ = 0;  // so far
  bool warned_of_crowd_ = false;
  const std::set<trial::TrialName> alone_;
  std::deque<trial::Trial> waiting_;
  std::deque<trial::Trial> waiting_alone_;
  std::unique_ptr<Round> round_;
};

/// The other ranks' side of CollectiveDispatcher: trains incoming trials until rank 0 ends the rounds. Every
/// wait is polled; between polls `check` looks after the rest of the rank and rethrows errors of its threads.
void serve_rounds(comm::Communicator& world, const RoundFormat& format, SlotPool& own_slots,
                  ResultKeeper& results, const std::function<void()>& check);

}  // namespace skyline::engine
