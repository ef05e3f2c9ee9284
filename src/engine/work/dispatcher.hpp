#pragma once

#include "skyline/trial/trial.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <variant>

namespace skyline::engine {

/// The result of a dispatched trial, or what a rank that did not lead did for it.
struct Arrival {
  trial::TrialName trial;
  trial::Outcome outcome;
  trial::TrialTiming timing;
  bool unsaved = false;   // of a trial that was stopped: steps that it did stand in no checkpoint
  bool replayed = false;  // of the journal: an earlier job had committed it
  bool follower =
      false;  // of a rank whose members did not lead the trial's group: its time alone, no outcome
  std::uint32_t attempt = 0;  // of its Assignment
  bool again = false;         // no result: the trial is to be tried once more, on another rank

  /// No result: the run was asked to stop before there was one.
  bool stopped() const {
    const auto* failure = std::get_if<trial::Failure>(&outcome);
    return failure != nullptr && failure->kind == trial::FailureKind::kStopped;
  }
};

/// The fields that travel between ranks.
template <typename Visitor>
void for_each_field(Arrival& arrival, Visitor& visit) {
  visit(arrival.trial, arrival.outcome, arrival.timing, arrival.unsaved, arrival.follower, arrival.attempt,
        arrival.again);
}

/// A trial took longer than it may.
inline trial::Failure took_too_long() {
  return {trial::FailureKind::kException, "took longer than run.trial_timeout"};
}

/// A slot has done its part of a trial, whose result comes later: when its files are written.
struct TrainedPart {
  trial::TrialName trial;
  std::size_t slot = 0;
  double seconds = 0;
};

/// A trial from its asking to its commit, which nobody changes: the commit order and the dispatcher share it.
using AskedTrial = std::shared_ptr<const trial::Trial>;

/// Brings trials to the slots of all ranks and their results back. Rank 0's side; its main thread alone.
class Dispatcher {
 public:
  virtual ~Dispatcher() = default;
  /// Takes the trials over; they start when there is room for them.
  virtual void submit(std::span<const AskedTrial> trials) = 0;
  /// Whether more trials will come while these wait, as in a window whose search goes on.
  virtual void expect_more(bool /*more*/) {}
  /// Results that came since the last call, in any order, for the caller to move from; valid until the next
  /// call. Never blocks; drives progress.
  /// @throws what a slot of this rank met that is no trial's fault
  virtual std::span<Arrival> poll() = 0;
  /// Drops what waits and has what is under way stopped: it comes back soon, mostly as Failure{kStopped}.
  virtual void stop() = 0;
  /// Nothing submitted is waiting or under way.
  virtual bool idle() const = 0;
};

}  // namespace skyline::engine
