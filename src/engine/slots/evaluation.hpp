#pragma once

#include "skyline/trial/evaluator.hpp"
#include "skyline/trial/metric.hpp"

#include "engine/slots/trial_deadline.hpp"

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace skyline::engine {

/// Threads of a slot for the members of a group after the first. They are kept between trials, with their
/// caches. Used by the slot's thread.
class MemberThreads {
 public:
  /// @param processors  member i is bound to processors[i mod size]; empty for no binding
  explicit MemberThreads(std::vector<int> processors) : processors_(std::move(processors)) {}
  ~MemberThreads();
  MemberThreads(const MemberThreads&) = delete;
  MemberThreads& operator=(const MemberThreads&) = delete;

  /// Calls task(0) on this thread and task(1) to task(count - 1) on others; returns when all are done.
  /// @param task  must not throw
  /// @throws UserError if the system refuses a thread; then nothing was called
  void run(std::size_t count, const std::function<void(std::size_t)>& task);

 private:
  void start();
  void serve(std::size_t index, std::uint64_t seen);

  const std::vector<int> processors_;
  std::vector<std::thread> threads_;  // threads of tasks 1, 2, ...
  std::mutex mutex_;                  // guards the members below
  std::condition_variable work_came_;
  std::condition_variable all_done_;
  const std::function<void(std::size_t)>* task_ = nullptr;
  std::size_t count_ = 0;
  std::size_t open_ = 0;  // number of unfinished tasks
  std::uint64_t runs_ = 0;
  bool ended_ = false;
};

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
