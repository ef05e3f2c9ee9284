#pragma once

#include "skyline/trial/evaluator.hpp"

#include "engine/slots/checkpoints.hpp"

#include <atomic>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

namespace skyline::engine {

/// The slot as an evaluator sees it while it trains a trial.
class SlotContext final : public trial::EvaluationContext, trial::TrialControl, trial::TrialWeights {
 public:
  using Tensors = std::vector<trial::NamedTensor>;

  /// @param checkpoints  of the slot, for this trial; nullptr: none
  SlotContext(const std::atomic<bool>& stop, SlotCheckpoints* checkpoints, bool wants_weights)
      : stop_(stop), checkpoints_(checkpoints), wants_weights_(wants_weights) {}

  trial::TrialControl& control() override { return *this; }
  trial::TrialState& state() override { return checkpoints_ == nullptr ? no_state_ : *checkpoints_; }
  trial::TrialWeights& weights() override { return *this; }
  trial::TrialGroup* group() override { return group_; }
  trial::TrialTiming& timing() override { return timing_; }

  /// Read when the evaluator asks: a resumed trial needs none.
  void inherit(std::function<std::shared_ptr<const Tensors>()> inherited) {
    inherited_ = std::move(inherited);
  }
  /// Makes this the context of member 0.
  void lead(trial::TrialGroup& group) { group_ = &group; }
  Tensors take_weights() { return std::move(kept_); }
  void report(std::vector<trial::CoursePoint> course) override { course_ = std::move(course); }
  std::vector<trial::CoursePoint> take_course() { return std::move(course_); }

 private:
  bool stop_requested() const override { return stop_.load(std::memory_order_relaxed); }
  std::shared_ptr<const Tensors> inherited() const override { return inherited_ ? inherited_() : nullptr; }
  bool wanted() const override { return wants_weights_; }
  void keep(Tensors weights) override {
    if (wants_weights_) kept_ = std::move(weights);
  }

  const std::atomic<bool>& stop_;
  SlotCheckpoints* checkpoints_;
  trial::TrialState no_state_;
  bool wants_weights_;
  std::function<std::shared_ptr<const Tensors>()> inherited_;
  Tensors kept_;
  std::vector<trial::CoursePoint> course_;
  trial::TrialGroup* group_ = nullptr;
  trial::TrialTiming timing_;
};

}  // namespace skyline::engine
