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
  bool covers(trial::TrialNumber number) const { return number < entries_.size(); }
  /// The recorded result of a trial that is asked for again. @pre covers(asked.number)
  /// @throws UserError if the journal holds another trial under this number
  Arrival result_of(const trial::Trial& asked) const;
  /// Whether the journal holds, under the number of `asked`, a full training that is not asked for: one that
  /// an earlier job made after the search, before the run was extended. It stays where it is.
  bool holds_other_final(const trial::Trial& asked) const;
  /// @pre covers(number)
  const trial::CommittedTrial& entry(trial::TrialNumber number) const { return entries_[number]; }
  /// @throws UserError if the journal goes on after the run's end
  void check_ended(trial::TrialNumber next_number) const;

 private:
  std::span<const trial::CommittedTrial> entries_;
};

/// When the jobs before this one had ended, in seconds of the run: its clock goes on from there. 0 for a new
/// run.
double replayed_seconds(const RunInputs& inputs);

}  // namespace skyline::engine
