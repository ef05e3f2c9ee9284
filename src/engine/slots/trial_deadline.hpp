#pragma once

#include "skyline/trial/evaluator.hpp"
#include "skyline/trial/trial.hpp"

#include "core/clock.hpp"

#include <atomic>
#include <cstddef>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace skyline::engine {

/// The time limit for the trial of a slot. The time runs while at least one of the trial's members on this
/// rank evaluates and does not wait. Any thread may use it.
class TrialDeadline {
 public:
  /// Begins a trial; its time does not run yet.
  /// @param most_s  no value if there is no limit
  /// @param anew    whether the limit holds for each stretch between two waits: another rank's members lead
  ///                the trial, and end it when its time is over
  void begin(std::optional<double> most_s, bool anew = false) {
    const std::lock_guard lock(mutex_);
    most_s_ = left_s_ = most_s.value_or(kNever);
    anew_ = anew;
  }
  /// From now on a member of the trial evaluates.
  void run() {
    const std::lock_guard lock(mutex_);
    if (running_++ == 0) at_s_ = SteadyClock().now_s() + left_s_;
  }
  /// From now on the member waits, or has ended.
  void hold() {
    const std::lock_guard lock(mutex_);
    if (--running_ > 0) return;
    const double at_s = at_s_.exchange(kNever);
    left_s_ = anew_ ? most_s_ : at_s - SteadyClock().now_s();
  }
  /// Returns whether the time runs, and was over at least grace_s seconds ago. Cheap.
  bool is_over(double grace_s = 0) const { return SteadyClock().now_s() > at_s_ + grace_s; }
  /// Returns the seconds left, below 0 if the time is over, or nullopt if there is no limit.
  std::optional<double> left_s() const {
    const std::lock_guard lock(mutex_);
    if (most_s_ == kNever) return std::nullopt;
    return running_ > 0 ? at_s_ - SteadyClock().now_s() : left_s_;
  }

 private:
  static constexpr double kNever = std::numeric_limits<double>::infinity();
  std::atomic<double> at_s_ = kNever;
  mutable std::mutex mutex_;  // guards the members below
  double most_s_ = kNever;
  double left_s_ = kNever;  // seconds left when the time last began to run, or was held
  bool anew_ = false;
  int running_ = 0;  // number of members
};

/// The deadlines of a rank's slots, and the trials that do not stop although their time is over. Any thread
/// may use it.
class SlotDeadlines {
 public:
  struct Stuck {
    std::size_t slot;
    trial::TrialName trial;
  };

  /// @param grace_s  seconds that a trial has for stopping when its time is over
  SlotDeadlines(std::size_t slots, double grace_s)
      : grace_s_(grace_s), deadlines_(slots), trials_(slots), told_(slots) {}
  TrialDeadline& operator[](std::size_t slot) { return deadlines_[slot]; }
  /// Begins a trial (TrialDeadline::begin).
  void begin(std::size_t slot, trial::TrialName trial, std::optional<double> most_s, bool anew) {
    const std::lock_guard lock(mutex_);
    trials_[slot] = trial;
    told_[slot] = false;
    deadlines_[slot].begin(most_s, anew);
  }
  std::vector<Stuck> stuck() const {
    const std::lock_guard lock(mutex_);
    std::vector<Stuck> stuck;
    for (std::size_t slot = 0; slot < deadlines_.size(); ++slot) {
      if (deadlines_[slot].is_over(grace_s_)) stuck.push_back({slot, trials_[slot]});
    }
    return stuck;
  }
  /// Returns those that were not returned before.
  std::vector<Stuck> take_stuck() {
    std::vector<Stuck> all = stuck();
    const std::lock_guard lock(mutex_);
    std::erase_if(all, [&](const Stuck& trial) {
      const bool told = told_[trial.slot];
      told_[trial.slot] = true;
      return told;
    });
    return all;
  }

 private:
  const double grace_s_;
  std::vector<TrialDeadline> deadlines_;  // [slots]
  mutable std::mutex mutex_;              // guards the members below
  std::vector<trial::TrialName> trials_;  // [slots] the last one
  std::vector<bool> told_;                // [slots] whether take_stuck() has returned it
};

/// Lets the time of a trial run while the object exists, except during waits of its member.
class RunningMember {
 public:
  explicit RunningMember(TrialDeadline& deadline) : deadline_(deadline) { deadline_.run(); }
  ~RunningMember() { deadline_.hold(); }
  RunningMember(const RunningMember&) = delete;
  RunningMember& operator=(const RunningMember&) = delete;

 private:
  TrialDeadline& deadline_;
};

/// The requests of a slot to a member of its trial. Only the member's thread uses it.
class MemberControl final : public trial::TrialControl {
 public:
  /// @param stop  nullptr if the member follows another one, and is not asked to stop
  MemberControl(TrialDeadline& deadline, const std::atomic<bool>* stop) : deadline_(deadline), stop_(stop) {}

  bool stop_requested() const override {
    return stop_ != nullptr && (stop_->load(std::memory_order_relaxed) || deadline_.is_over());
  }
  std::optional<double> left_s() const override {
    return stop_ == nullptr ? std::nullopt : deadline_.left_s();
  }

 private:
  void hold_time() override {
    if (waits_++ == 0) deadline_.hold();
  }
  void resume_time() override {
    if (--waits_ == 0) deadline_.run();
  }

  TrialDeadline& deadline_;
  const std::atomic<bool>* stop_;
  int waits_ = 0;  // number of nested waits
};

/// A member's view of its group. While the member waits for others, the trial's time does not run, and the
/// wait counts as TrialTiming::wait_ranks_s.
class TimedGroup final : public trial::TrialGroup {
 public:
  /// The referenced objects must outlive this object.
  TimedGroup(trial::TrialGroup& group, trial::EvaluationContext& context)
      : group_(group), context_(context) {}

  std::size_t members() const override { return group_.members(); }
  std::size_t member() const override { return group_.member(); }
  trial::Place place_of(std::size_t member) const override { return group_.place_of(member); }
  std::unique_ptr<Operation> all_reduce(std::span<float> values) override {
    return timed(group_.all_reduce(values));
  }
  std::unique_ptr<Operation> reduce_scatter(std::span<float> values) override {
    return timed(group_.reduce_scatter(values));
  }
  std::unique_ptr<Operation> all_gather(std::span<float> values) override {
    return timed(group_.all_gather(values));
  }
  void sum(std::span<double> values) override {
    const trial::TrialWait wait(context_, &trial::TrialTiming::wait_ranks_s);
    group_.sum(values);
  }
  void broadcast(std::span<std::byte> bytes) override {
    const trial::TrialWait wait(context_, &trial::TrialTiming::wait_ranks_s);
    group_.broadcast(bytes);
  }
  void check() override { group_.check(); }
  void abort(const trial::Failure& failure, bool fault) noexcept override { group_.abort(failure, fault); }

 private:
  class TimedOperation final : public Operation {
   public:
    TimedOperation(std::unique_ptr<Operation> operation, trial::EvaluationContext& context)
        : operation_(std::move(operation)), context_(context) {}
    bool test() override { return operation_->test(); }
    void wait() override {
      const trial::TrialWait wait(context_, &trial::TrialTiming::wait_ranks_s);
      operation_->wait();
    }

   private:
    std::unique_ptr<Operation> operation_;
    trial::EvaluationContext& context_;
  };

  std::unique_ptr<Operation> timed(std::unique_ptr<Operation> operation) {
    return std::make_unique<TimedOperation>(std::move(operation), context_);
  }

  trial::TrialGroup& group_;
  trial::EvaluationContext& context_;
};

}  // namespace skyline::engine
