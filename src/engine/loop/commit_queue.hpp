#pragma once

#include "skyline/trial/trial.hpp"

#include "engine/dispatch/dispatcher.hpp"

#include <cstddef>
#include <deque>
#include <map>
#include <optional>

namespace skyline::engine {

/// The reorder buffer: trials go in as they are asked, results in any order, commits come out in the order of
/// asking. This is what makes a run's journal independent of ranks, slots and times.
class CommitQueue {
 public:
  /// @param window  trials asked and not committed, at most; nothing: no bound (a generation at a time)
  explicit CommitQueue(std::optional<std::size_t> window);

  /// How many more trials may be asked now.
  std::size_t room() const;
  /// Of the commit of the trial that is asked or recorded next.
  trial::CommitPosition next_position() const { return committed_ + entries_.size(); }
  /// @pre room() > 0
  void asked(trial::Trial trial);
  /// A trial that is not asked for, with its result: it takes the next position and no room in the
  /// window.
  void recorded(trial::CommittedTrial recorded);
  /// @throws InternalError for a trial that does not wait for its result
  void arrived(Arrival arrival);
  /// The next in commit order, if it is here.
  std::optional<trial::CommittedTrial> next();

  /// Asked and not committed.
  std::size_t in_flight() const { return entries_.size(); }
  bool empty() const { return entries_.empty(); }

 private:
  struct Entry {
    trial::Trial trial;
    std::optional<Arrival> arrival;
    bool recorded = false;  // and takes no room
  };
  std::optional<std::size_t> window_;
  trial::CommitPosition committed_ = 0;  // the position of entries_.front()
  std::deque<Entry> entries_;
  std::map<trial::TrialName, trial::CommitPosition> waiting_;  // for their results
  std::size_t recorded_ = 0;                                   // of the entries
};

}  // namespace skyline::engine
