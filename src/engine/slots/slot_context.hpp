#pragma once

#include "skyline/trial/evaluator.hpp"

#include "engine/slots/checkpoints.hpp"

#include <atomic>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

namespace skyline::engine {

/// What an evaluator sees of the slot that trains a trial.
class SlotContext final : public trial::EvaluationContext {
 public:
  using Tensors = std::vector<trial::NamedTensor>;

  /// @param checkpoints  of the slot, begun for this trial; nullptr: none
  SlotContext(const std::atomic<bool>& stop, SlotCheckpoints* checkpoints, bool wants_weights)
      : stop_(stop), checkpoints_(checkpoints), wants_weights_(wants_weights) {}

  bool stop_requested() const override { return stop_.load(std::memory_order_relaxed); }
  const trial::TrainingState* saved_state() const override {
    return checkpoints_ == nullptr ? nullptr : checkpoints_->saved_state();
  }
  bool save_due(double epochs_done) override {
    return checkpoints_ != nullptr && checkpoints_->due(epochs_done);
  }
  void save(const std::function<void(trial::TrainingState&)>& fill) override {
    if (checkpoints_ != nullptr) checkpoints_->save(fill);
  }
  std::shared_ptr<const Tensors> inherited_weights() const override {
    return inherited_ ? inherited_() : nullptr;
  }
  trial::TrialGroup* group() override { return group_; }
  void progress(double) override {}  // a run shows its trials, not the share of one
  bool wants_weights() const override { return wants_weights_; }
  void keep_weights(Tensors weights) override {
    if (wants_weights_) weights_ = std::move(weights);
  }
  trial::TrialTiming& timing() override { return timing_; }

  /// Read when the evaluator asks: a trial that goes on from a saved state needs none.
  void inherit(std::function<std::shared_ptr<const Tensors>()> inherited) {
    inherited_ = std::move(inherited);
  }
  /// This context is of member 0.
  void lead(trial::TrialGroup& group) { group_ = &group; }
  Tensors take_weights() { return std::move(weights_); }

 private:
  const std::atomic<bool>& stop_;
  SlotCheckpoints* checkpoints_;
  bool wants_weights_;
  std::function<std::shared_ptr<const Tensors>()> inherited_;
  Tensors weights_;
  trial::TrialGroup* group_ = nullptr;
  trial::TrialTiming timing_;
};

}  // namespace skyline::engine
