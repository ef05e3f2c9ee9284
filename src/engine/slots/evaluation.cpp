#include "engine/slots/evaluation.hpp"

#include "skyline/core/error.hpp"
#include "skyline/core/exit_code.hpp"
#include "skyline/objective/objective_set.hpp"

#include "core/system/process.hpp"
#include "engine/slots/crash_signals.hpp"

#include <algorithm>
#include <cmath>
#include <exception>
#include <new>
#include <optional>
#include <string>
#include <system_error>

namespace skyline::engine {
namespace {

using trial::Failure;
using trial::FailureKind;
using trial::Outcome;

/// Returns whether member 0 wants the trial to begin.
bool begins_together(trial::TrialGroup& group, bool begins) {
  std::byte answer{begins};
  group.broadcast(std::span(&answer, 1));
  return answer != std::byte{0};
}

Outcome evaluate_member(trial::Evaluator& evaluator, const trial::Trial& trial,
                        trial::EvaluationContext& context, bool begins) {
  trial::TrialGroup& group = *context.group();
  try {
    if (!begins_together(group, begins)) return Failure{FailureKind::kStopped, "stopped on request"};
  } catch (const trial::GroupAborted& aborted) {
    return aborted.failure();
  } catch (const std::exception& error) {  // the trial has not begun, so this is not its failure
    const Failure failure{FailureKind::kException, fit_reason(error.what())};
    group.abort(failure, true);
    return failure;
  }
  Outcome outcome = evaluate_safely(evaluator, trial, context);
  if (auto* failure = std::get_if<Failure>(&outcome)) {
    failure->reason = fit_reason(failure->reason);
    // All members stop in the same step; the first one that returns must not disturb a member that still
    // collects its state.
    if (failure->kind != FailureKind::kStopped) group.abort(*failure, evaluator.fault() != nullptr);
  }
  return outcome;
}

std::optional<std::string> find_wrong_value(const std::vector<double>& values,
                                            const std::vector<trial::Metric>& metrics,
                                            const std::vector<std::string>& needed) {
  for (std::size_t i = 0; i < metrics.size(); ++i) {
    const trial::Metric& metric = metrics[i];
    const bool missing = std::isnan(values[i]);
    const bool is_right =
        missing ? std::ranges::find(needed, metric.name) == needed.end() : metric.range.holds(values[i]);
    if (is_right) continue;
    return "`" + metric.name + "` is " + (missing ? "NaN" : objective::number_text(values[i])) +
           ": expected " + objective::to_text(metric.range);
  }
  return std::nullopt;
}

}  // namespace

MemberThreads::~MemberThreads() {
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  work_came_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void MemberThreads::run(std::size_t count, const std::function<void(std::size_t)>& task) {
  while (threads_.size() + 1 < count) start();
  {
    const std::lock_guard lock(mutex_);
    task_ = &task;
    count_ = count;
    open_ = count - 1;
    ++runs_;
  }
  work_came_.notify_all();
  task(0);
  std::unique_lock lock(mutex_);
  all_done_.wait(lock, [this] { return open_ == 0; });
}

void MemberThreads::start() {
  const std::size_t index = threads_.size() + 1;
  try {
    threads_.emplace_back([this, index, seen = runs_] { serve(index, seen); });
  } catch (const std::system_error& error) {
    throw UserError("cannot train a group's trial: for member " + std::to_string(index) + " of this rank " +
                    error_text(error) + "; start more ranks");
  }
}

void MemberThreads::serve(std::size_t index, std::uint64_t seen) {
  const SignalStack signals;
  if (!processors_.empty()) bind_this_thread(processors_[index % processors_.size()]);
  std::unique_lock lock(mutex_);
  for (;;) {
    work_came_.wait(lock, [&] { return ended_ || runs_ != seen; });
    if (ended_) return;
    seen = runs_;
    if (index >= count_) continue;
    lock.unlock();
    (*task_)(index);
    lock.lock();
    if (--open_ == 0) all_done_.notify_one();
  }
}

void check_outcome(Outcome& outcome, const std::vector<trial::Metric>& metrics,
                   const std::vector<std::string>& needed) {
  if (const auto* measured = std::get_if<trial::Measurements>(&outcome)) {
    require(measured->values.size() == metrics.size(),
            "the evaluator returned another number of values than it has metrics");
    const std::vector<std::string> none = {};
    if (const auto reason =
            find_wrong_value(measured->values, metrics, trial::is_whole(outcome) ? needed : none)) {
      outcome = Failure{FailureKind::kException, *reason};
    }
  }
  if (auto* failed = std::get_if<Failure>(&outcome)) failed->reason = fit_reason(failed->reason);
}

std::string fit_reason(std::string_view text) {
  text = text.substr(0, text.find_first_of("\r\n"));
  if (text.size() <= kReasonBytes) return std::string(text);
  std::size_t end = kReasonBytes;
  const auto continues = [&](std::size_t i) {
    return (static_cast<unsigned char>(text[i]) & 0xC0U) == 0x80U;
  };
  while (end > 0 && continues(end)) --end;
  return std::string(text.substr(0, end));
}

Outcome evaluate_safely(trial::Evaluator& evaluator, const trial::Trial& trial,
                        trial::EvaluationContext& context) {
  try {
    return evaluator.evaluate(trial, context);
  } catch (const trial::GroupAborted& aborted) {
    return aborted.failure();
  } catch (const std::bad_alloc&) {
    return Failure{FailureKind::kOutOfMemory, "out of memory"};
  } catch (const std::exception& error) {
    return Failure{FailureKind::kException, error.what()};
  } catch (...) {
    return Failure{FailureKind::kException, "an exception of unknown type"};
  }
}

Outcome evaluate_together(trial::Evaluator& evaluator, const trial::Trial& trial, LocalMembers members,
                          trial::EvaluationContext& first, bool begins, TrialDeadline& deadline,
                          MemberThreads& threads) {
  Outcome outcome;
  threads.run(members.size(), [&](std::size_t i) {
    const RunningMember running(deadline);
    if (i == 0) {
      outcome = evaluate_member(evaluator, trial, first, begins);
    } else {
      MemberContext context(*members[i], deadline, first.last_failure());
      evaluate_member(evaluator, trial, context, begins);
    }
  });
  return outcome;
}

}  // namespace skyline::engine
