#pragma once

#include "skyline/trial/evaluator.hpp"
#include "skyline/trial/metric.hpp"

#include "engine/slots/member_threads.hpp"
#include "engine/slots/timed_group.hpp"
#include "engine/slots/trial_deadline.hpp"

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace skyline::engine {

/// Longest reason of a failed trial. Longer ones are cut when the failure is made, so that a journal does not
/// depend on the way of a result.
constexpr std::size_t kReasonBytes = 240;

/// Returns the first line of the text, cut to kReasonBytes between two UTF-8 characters.
std::string fit_reason(std::string_view text);

/// Fails a trial if a value is outside of its metric's range, or a needed value is missing. Cuts the reason
/// of a failure to the length that a journal allows.
/// @param needed  names of the metrics whose values may not be missing
void check_outcome(trial::Outcome& outcome, const std::vector<trial::Metric>& metrics,
                   const std::vector<std::string>& needed);

/// Evaluates a trial; an exception of the evaluator becomes the trial's failure.
trial::Outcome evaluate_safely(trial::Evaluator& evaluator, const trial::Trial& trial,
                               trial::EvaluationContext& context);

/// The context of a member that does not lead: it saves, inherits and keeps nothing, and stops with its
/// leader.
class MemberContext final : public trial::EvaluationContext {
 public:
  /// @param last_failure  see EvaluationContext::last_failure
  MemberContext(trial::TrialGroup& group, TrialDeadline& deadline, std::string last_failure)
      : last_failure_(std::move(last_failure)), control_(deadline, nullptr), group_(group, *this) {}
  trial::TrialControl& control() override { return control_; }
  trial::TrialState& state() override { return no_state_; }
  trial::TrialWeights& weights() override { return no_weights_; }
  trial::TrialGroup* group() override { return &group_; }
  trial::Place place() const override { return group_.place_of(group_.member()); }
  std::string last_failure() const override { return last_failure_; }
  trial::TrialTiming& timing() override { return timing_; }

 private:
  const std::string last_failure_;
  MemberControl control_;
  trial::TrialState no_state_;
  trial::TrialWeights no_weights_;
  trial::TrialTiming timing_;
  TimedGroup group_;
};

/// This rank's members of a group.
using LocalMembers = std::span<const std::unique_ptr<trial::TrialGroup>>;

/// Trains this rank's members of a group's trial, each on its own thread. First all members of all ranks wait
/// for each other; they begin if member 0 says so. If a member fails, the trial ends for all.
/// @param first     context of this rank's first member, with its group()
/// @param begins    used on the rank of member 0; false if it was asked to stop
/// @param deadline  deadline of the slot, for the time of this rank's members
/// @return the outcome of this rank's first member; Failure{kStopped} if the trial did not begin
/// @throws UserError if the system refuses a thread
trial::Outcome evaluate_together(trial::Evaluator& evaluator, const trial::Trial& trial, LocalMembers members,
                                 trial::EvaluationContext& first, bool begins, TrialDeadline& deadline,
                                 MemberThreads& threads);

}  // namespace skyline::engine
