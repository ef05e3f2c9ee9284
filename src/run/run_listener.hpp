#pragma once

#include "skyline/trial/trial.hpp"

#include <memory>

namespace skyline::run {

class RunState;

/// A committed trial, which nobody changes any more: state, journal and tracking share it.
using SharedTrial = std::shared_ptr<const trial::CommittedTrial>;

/// A commit as the loop makes it; its position stands in the trial.
struct Commit {
  SharedTrial trial;
  bool replayed = false;  // an earlier job of the run had committed it: it is in the journal
};

/// Is told on rank 0 how a run goes. Called by the main thread, in the order of events; must be quick.
class RunListener {
 public:
  virtual ~RunListener() = default;
  /// The slots are known; nothing has been asked for.
  virtual void started(const RunState& /*state*/) {}
  /// The search begins, or the full training of its front.
  virtual void phase_begun(const RunState& /*state*/) {}
  virtual void asked(const trial::Trial& /*trial*/) {}
  /// Once for each commit, replayed or new; `state` holds it already.
  virtual void committed(const Commit& /*commit*/, const RunState& /*state*/) {}
  /// The run is asked to stop: running trials save their state. Called once, if at all.
  virtual void stopping() {}
  /// About ten times a second.
  virtual void tick(const RunState& /*state*/) {}
};

}  // namespace skyline::run
