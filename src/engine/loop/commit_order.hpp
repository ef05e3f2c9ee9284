#pragma once

#include "skyline/trial/trial.hpp"

#include "engine/work/dispatcher.hpp"
#include "engine/work/engine_options.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <queue>
#include <unordered_map>
#include <utility>
#include <vector>

namespace skyline::engine {

/// Units of predicted cost since the start of a run, on a clock that only commits move.
__extension__ using VirtualTime = unsigned __int128;

/// The trial to be committed next, without its position.
struct NextCommit {
  std::shared_ptr<trial::CommittedTrial> committed;
  bool replayed = false;  // an earlier job had committed it
};

/// The reorder buffer: trials enter in the order of asking, results arrive in any order, and commits leave in
/// an order that depends only on the trials. This makes a run's journal independent of ranks, slots and
/// times.
class CommitOrder {
 public:
  /// @param window  most trials asked for and not committed; no value for no limit (a generation at a time)
  explicit CommitOrder(std::optional<std::size_t> window);
  CommitOrder(const CommitOrder&) = delete;
  CommitOrder& operator=(const CommitOrder&) = delete;
  virtual ~CommitOrder() = default;

  /// Returns how many more trials may be asked for now.
  /// @param untold  committed trials that count as in flight
  std::size_t room(std::size_t untold = 0) const;
  bool has_window() const { return window_.has_value(); }
  /// Takes a trial. @pre room() > 0, or there is no window
  /// @return  the trial that next() will return
  AskedTrial asked(trial::Trial trial);
  /// Takes a result. @throws InternalError for a trial that does not wait for its result
  void arrived(Arrival arrival);
  /// Returns the trial that is committed next, or nullptr if none is in flight.
  const trial::Trial* due() const;
  /// Returns the next commit, if its result has arrived.
  /// @param recorded  the trial that an earlier job committed here; if the run was extended since, it comes
  ///                  before the one that is due
  std::optional<NextCommit> next(const std::optional<trial::TrialName>& recorded = {});
  /// Returns the results that have arrived and wait for their commit, each only once. Those that an earlier
  /// job had committed are not among them.
  std::vector<std::shared_ptr<const trial::CommittedTrial>> take_waiting();
  /// Returns the number of trials that were asked for and are not committed.
  std::size_t in_flight() const { return entries_.size(); }
  /// Returns how many of them have a result.
  std::size_t waiting() const { return waiting_; }
  /// Returns whether a trial that is asked for later may be committed before one in flight.
  virtual bool may_overtake() const = 0;

 protected:
  /// Returns the end of a trial that is asked for now. Trials in flight are committed in the order of their
  /// ends, equal ones in the order of asking.
  virtual VirtualTime end_of(const trial::Trial& trial) = 0;
  /// Notes the commit of a trial with this end.
  virtual void committed(VirtualTime /*end*/) {}

 private:
  struct Entry {
    std::shared_ptr<trial::CommittedTrial> committed;
    bool has_result = false;
    bool replayed = false;
    bool is_given_out = false;  // take_waiting() has returned it
  };
  using CommitKey =
      std::pair<VirtualTime, std::uint64_t>;  // the end, and the number of trials asked for before
  using Entries = std::map<CommitKey, Entry>;

  std::optional<std::size_t> window_;
  std::uint64_t asked_ = 0;
  std::size_t waiting_ = 0;
  Entries entries_;
  std::unordered_map<trial::TrialName, Entries::iterator> places_;
};

class CommitsByNumber final : public CommitOrder {
 public:
  using CommitOrder::CommitOrder;
  bool may_overtake() const override { return false; }

 private:
  VirtualTime end_of(const trial::Trial& /*trial*/) override { return 0; }
};

/// Commits in the order in which a fixed number of virtual slots would end the trials if each took its
/// predicted cost. So short trials are committed before long ones that were asked for earlier, for any ranks
/// and times.
class CommitsByVirtualTime final : public CommitOrder {
 public:
  CommitsByVirtualTime(std::optional<std::size_t> window, std::size_t slots);
  bool may_overtake() const override { return true; }

 private:
  VirtualTime end_of(const trial::Trial& trial) override;
  /// Sets the clock, which never goes back: a line of an extended run's journal may come before its turn.
  void committed(VirtualTime end) override { now_ = std::max(now_, end); }

  VirtualTime now_ = 0;
  std::priority_queue<VirtualTime, std::vector<VirtualTime>, std::greater<>> free_;  // time of each slot
};

std::unique_ptr<CommitOrder> make_commit_order(const EngineOptions& options);

}  // namespace skyline::engine
