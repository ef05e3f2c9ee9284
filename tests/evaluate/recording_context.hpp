#pragma once

#include "skyline/trial/evaluator.hpp"

#include <functional>

#include <gtest/gtest.h>

namespace skyline::testing {

/// A slot that asks for a stop once it was asked for it `polls_before_stop` times.
class RecordingContext final : public trial::EvaluationContext,
                               trial::TrialControl,
                               trial::TrialState,
                               trial::TrialWeights {
 public:
  explicit RecordingContext(int polls_before_stop = 1'000'000) : polls_before_stop_(polls_before_stop) {}
  trial::TrialControl& control() override { return *this; }
  trial::TrialState& state() override { return *this; }
  trial::TrialWeights& weights() override { return *this; }
  trial::TrialGroup* group() override { return nullptr; }
  trial::TrialTiming& timing() override { return timing_; }
  bool stop_requested() const override { return polls_++ >= polls_before_stop_; }
  bool wanted() const override { return true; }
  void keep(Tensors /*weights*/) override { ADD_FAILURE() << "there are no weights"; }
  const trial::TrainingState* saved() const override { return saved_; }
  bool due(double epochs_done) override {
    EXPECT_GE(epochs_done, epochs_done_);
    epochs_done_ = epochs_done;
    return false;
  }
  void save(const std::function<void(trial::TrainingState&)>& fill) override { fill(state_); }
  void save_last(const std::function<void(trial::TrainingState&)>& fill) override { fill(left_); }

  void go_on_from(const trial::TrainingState& saved) { saved_ = &saved; }
  const trial::TrainingState& last_saved() const { return state_; }
  /// For trials that continue this one.
  const trial::TrainingState& left() const { return left_; }

 private:
  int polls_before_stop_;
  mutable int polls_ = 0;
  double epochs_done_ = 0;
  const trial::TrainingState* saved_ = nullptr;
  trial::TrainingState state_;
  trial::TrainingState left_;
  trial::TrialTiming timing_;
};

}  // namespace skyline::testing
