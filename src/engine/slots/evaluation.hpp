#pragma once

#include "skyline/trial/evaluator.hpp"

#include "engine/slots/member_threads.hpp"

#include <memory>
#include <span>

namespace skyline::engine {

/// Whatever an evaluator throws is the trial's failure.
trial::Outcome evaluate_safely(trial::Evaluator& evaluator, const trial::Trial& trial,
                               trial::EvaluationContext& context);

/// What a member that doesn't lead sees: it saves, inherits and keeps nothing, and stops when its leader
/// does.
class MemberContext final : public trial::EvaluationContext, trial::TrialControl {
 public:
  explicit MemberContext(trial::TrialGroup& group) : group_(group) {}
  trial::TrialControl& control() override { return *this; }
  trial::TrialState& state() override { return no_state_; }
  trial::TrialWeights& weights() override { return no_weights_; }
  trial::TrialGroup* group() override { return &group_; }
  trial::TrialTiming& timing() override { return timing_; }

 private:
  bool stop_requested() const override { return false; }

  trial::TrialState no_state_;
  trial::TrialWeights no_weights_;
  trial::TrialGroup& group_;
  trial::TrialTiming timing_;
};

/// This rank's members of a group.
using LocalMembers = std::span<const std::unique_ptr<trial::TrialGroup>>;

/// Trains this rank's members of a group's trial, each on a thread of its own. All members of all ranks wait
/// for each other first, and begin if member 0 says so; a member that fails ends the trial for all.
/// @param first   context of the first member here, whose group() it is
/// @param begins  matters where member 0 is; false: it was asked to stop
/// @return        the first member's outcome here; Failure{kStopped} if the trial didn't begin
/// @throws UserError if the system refuses a thread
trial::Outcome evaluate_together(trial::Evaluator& evaluator, const trial::Trial& trial, LocalMembers members,
                                 trial::EvaluationContext& first, bool begins, MemberThreads& threads);

}  // namespace skyline::engine
