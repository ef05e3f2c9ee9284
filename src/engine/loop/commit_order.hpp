#pragma once

#include "skyline/trial/trial.hpp"

#include "engine/dispatch/dispatcher.hpp"
#include "run/run_state.hpp"

#include <cstddef>
#include <deque>
#include <map>
#include <optional>

namespace skyline::engine {

/// The reorder buffer: trials go in as they are asked, results in any order, commits come out in an order
/// that depends on the trials alone. This is what makes a run's journal independent of ranks, slots and
/// times.
class CommitOrder {
 public:
  virtual ~CommitOrder() = default;
  /// How many more trials may be asked now.
  virtual std::size_t room() const = 0;
  /// @pre room() > 0
  virtual void asked(const trial::Trial& trial) = 0;
  /// A line of the journal that nobody asks for: it is committed in its place and takes no room.
  virtual void recorded(trial::CommittedTrial line) = 0;
  /// @throws InternalError for a trial that does not wait for its result
  virtual void arrived(Arrival arrival) = 0;
  /// The next commit, if its result is here, with its position.
  virtual std::optional<run::Commit> next() = 0;
  /// Trials that are asked and not committed.
  virtual std::size_t in_flight() const = 0;
};

/// Commits in the order of asking.
class CommitsByNumber final : public CommitOrder {
 public:
  /// @param window  trials asked and not committed, at most; nothing: no bound (a generation at a time)
  explicit CommitsByNumber(std::optional<std::size_t> window);

  std::size_t room() const override;
  void asked(const trial::Trial& trial) override;
  void recorded(trial::CommittedTrial line) override;
  void arrived(Arrival arrival) override;
  std::optional<run::Commit> next() override;
  std::size_t in_flight() const override { return entries_.size(); }

 private:
  struct Entry {
    trial::Trial trial;
    std::optional<Arrival> arrival;
    bool takes_room = true;
  };
  trial::CommitPosition end() const { return committed_ + entries_.size(); }

  std::optional<std::size_t> window_;
  trial::CommitPosition committed_ = 0;  // the position of entries_.front()
  std::deque<Entry> entries_;
  std::map<trial::TrialName, trial::CommitPosition> waiting_;  // for their results
  std::size_t recorded_ = 0;                                   // of the entries
};

}  // namespace skyline::engine
