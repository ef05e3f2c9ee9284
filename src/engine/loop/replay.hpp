#pragma once

#include "engine/dispatch/dispatcher.hpp"
#include "engine/loop/run.hpp"

#include <cstddef>
#include <span>

namespace skyline::engine {

/// Whether two trials come to the same result.
bool same_training(const trial::Trial& left, const trial::Trial& right);

/// The committed results of an earlier job, fed to a fresh search in the place of training. Empty for a new
/// run. A view of inputs.replay, which outlives it.
class Replay {
 public:
  /// @throws UserError if the journal's metrics are not those of the evaluator
  explicit Replay(const RunInputs& inputs);

  std::size_t size() const { return entries_.size(); }
  bool covers(trial::CommitPosition position) const { return position < entries_.size(); }
  /// The recorded result of a trial that is asked for again. @pre covers(position)
  /// @throws UserError if the journal holds another trial at this position
  Arrival result_of(trial::CommitPosition position, const trial::Trial& asked) const;
  /// Whether the journal holds, where `asked` would be committed, a full training that is not asked for: one
  /// that an earlier job made after the search, before the run was extended. It stays where it is.
  bool holds_other_final(trial::CommitPosition position, const trial::Trial& asked) const;
  /// @pre covers(position)
  const trial::CommittedTrial& entry(trial::CommitPosition position) const { return entries_[position]; }
  /// @throws UserError if the journal goes on after the run's end
  void check_ended(trial::CommitPosition next) const;

 private:
  std::span<const trial::CommittedTrial> entries_;
};

/// When the jobs before this one had ended, in seconds of the run: its clock goes on from there. 0 for a new
/// run.
double replayed_seconds(const RunInputs& inputs);

}  // namespace skyline::engine
