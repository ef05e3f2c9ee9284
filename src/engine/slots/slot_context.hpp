#pragma once

#include "skyline/trial/evaluator.hpp"

#include "engine/slots/checkpoints.hpp"
#include "engine/slots/timed_group.hpp"
#include "engine/slots/trial_deadline.hpp"

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace skyline::engine {

/// The slot as an evaluator sees it while it trains a trial. Counts how long it has the trial wait.
class SlotContext final : public trial::EvaluationContext, trial::TrialState, trial::TrialWeights {
 public:
  using Tensors = std::vector<trial::NamedTensor>;

  /// @param checkpoints  of the slot, for this trial; nullptr: none
  SlotContext(const std::atomic<bool>& stop, SlotCheckpoints* checkpoints, bool wants_weights,
              TrialDeadline& deadline)
      : control_(deadline, &stop), checkpoints_(checkpoints), wants_weights_(wants_weights) {}

  trial::TrialControl& control() override { return control_; }
  trial::TrialState& state() override { return *this; }
  trial::TrialWeights& weights() override { return *this; }
  trial::TrialGroup* group() override { return group_ ? &*group_ : nullptr; }
  trial::TrialTiming& timing() override { return timing_; }

  /// Read when the evaluator asks: a resumed trial needs none.
  void inherit(std::function<std::shared_ptr<const Tensors>()> inherited) {
    inherited_ = std::move(inherited);
  }
  /// Makes this the context of member 0.
  void lead(trial::TrialGroup& group) { group_.emplace(group, *this); }
  Tensors take_weights() { return std::move(kept_); }
  void report(std::vector<trial::CoursePoint> course) override { course_ = std::move(course); }
  std::vector<trial::CoursePoint> take_course() { return std::move(course_); }

 private:
  using Fill = std::function<void(trial::TrainingState&)>;

  const trial::TrainingState* saved() const override {
    return checkpoints_ == nullptr ? nullptr : checkpoints_->saved();
  }
  bool due(double epochs_done) override { return checkpoints_ != nullptr && checkpoints_->due(epochs_done); }
  void save(const Fill& fill) override {
    const trial::TrialWait wait(*this, &trial::TrialTiming::wait_files_s);
    if (checkpoints_ != nullptr) checkpoints_->save(fill);
  }
  void save_last(const Fill& fill) override {
    const trial::TrialWait wait(*this, &trial::TrialTiming::wait_files_s);
    if (checkpoints_ != nullptr) checkpoints_->save_last(fill);
  }
  std::shared_ptr<const Tensors> inherited() override {
    const trial::TrialWait wait(*this, &trial::TrialTiming::wait_files_s);
    return inherited_ ? inherited_() : nullptr;
  }
  bool wanted() const override { return wants_weights_; }
  void keep(Tensors weights) override {
    if (wants_weights_) kept_ = std::move(weights);
  }

  MemberControl control_;
  SlotCheckpoints* checkpoints_;
  bool wants_weights_;
  std::function<std::shared_ptr<const Tensors>()> inherited_;
  Tensors kept_;
  std::vector<trial::CoursePoint> course_;
  std::optional<TimedGroup> group_;
  trial::TrialTiming timing_;
};

}  // namespace skyline::engine
