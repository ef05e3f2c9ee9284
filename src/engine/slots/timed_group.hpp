#pragma once

#include "skyline/trial/evaluator.hpp"

#include <cstddef>
#include <memory>
#include <span>
#include <utility>

namespace skyline::engine {

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
