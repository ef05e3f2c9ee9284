#pragma once

#include "skyline/trial/trial.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <variant>

namespace skyline::engine {

/// The result of a dispatched trial, or what a rank that did not lead its group has done.
struct Arrival {
  trial::TrialName trial;
  trial::Outcome outcome;
  trial::TrialTiming timing;
  bool unsaved = false;       // some steps of a stopped trial are in no checkpoint
  bool begins_again = false;  // the evaluator of a stopped trial that has trained has saved no state
  bool replayed = false;      // read from the journal: an earlier job had committed it
  bool follower = false;      // sent by a rank that did not lead the trial's group: time without outcome
  std::uint32_t attempt = 0;  // attempt of its Assignment
  bool again = false;         // no result: the trial must be tried once more, on another rank
  bool in_doubt = false;      // a failure that may be the host's: rank 0 decides whether it is a result

  /// Returns whether there is no result, because the run was asked to stop before.
  bool stopped() const {
    const auto* failure = std::get_if<trial::Failure>(&outcome);
    return failure != nullptr && failure->kind == trial::FailureKind::kStopped;
  }
  /// Returns the time of a whole trial, for the forecast of later ones; 0 for what does not say how long
  /// trials take: a failure, a pruned trial, and a follower, which does not know.
  double whole_s() const { return !follower && trial::is_whole(outcome) ? timing.total_s() : 0; }
};

/// The fields that travel between ranks.
template <typename Visitor>
void for_each_field(Arrival& arrival, Visitor& visit) {
  visit(arrival.trial, arrival.outcome, arrival.timing, arrival.unsaved, arrival.begins_again,
        arrival.follower, arrival.attempt, arrival.again, arrival.in_doubt);
}

/// Returns the failure of a trial that took too long.
inline trial::Failure took_too_long() {
  return {trial::FailureKind::kException, "took longer than run.trial_timeout"};
}

/// A slot has done its part of a trial. The result comes later, when its files are written.
struct TrainedPart {
  trial::TrialName trial;
  std::size_t slot = 0;
  double seconds = 0;
};

/// A trial from its asking to its commit. It never changes: the commit order and the dispatcher share it.
using AskedTrial = std::shared_ptr<const trial::Trial>;

/// Brings trials to the slots of all ranks, and their results back. It is rank 0's side; only its main thread
/// uses it.
class Dispatcher {
 public:
  virtual ~Dispatcher() = default;
  /// Takes over the trials, which start when there is room for them.
  virtual void submit(std::span<const AskedTrial> trials) = 0;
  /// Says whether more trials will come while these wait, as in a window whose search continues.
  virtual void expect_more(bool /*more*/) {}
  /// Returns the results since the last call, in any order. The caller may move from them; they are valid
  /// until the next call. Never blocks; drives progress. @throws an error of a slot of this rank that is no
  /// trial's fault
  virtual std::span<Arrival> poll() = 0;
  /// Forgets waiting trials and asks running ones to stop. Most of these soon arrive as Failure{kStopped}.
  virtual void stop() = 0;
  /// Returns whether no submitted trial waits or runs.
  virtual bool idle() const = 0;
};

}  // namespace skyline::engine
