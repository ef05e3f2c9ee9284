#pragma once

#include "skyline/objective/evaluator.hpp"
#include "skyline/objective/trial.hpp"

#include "train/learner.hpp"
#include "train/training_setup.hpp"

#include <chrono>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace skyline::train {

/// Steps of an epoch (the last, smaller batch counts) and of a budget: at least one.
std::int64_t steps_per_epoch(std::size_t samples, std::int64_t batch);
std::int64_t steps_for(double epochs, std::size_t samples, std::int64_t batch);

struct Score {
  double accuracy = std::numeric_limits<double>::quiet_NaN();
  double loss = std::numeric_limits<double>::quiet_NaN();
};

/// One trial from the first step, or the one after the saved state, to the last measurement. Used by one
/// thread, once.
class TrialRun {
 public:
  TrialRun(const TrainingSetup& setup, const objective::Trial& trial, objective::EvaluationContext& context);
  objective::Outcome run();

 private:
  // Of a trial that may end early these note why in failure_.
  void train();
  void train_epoch();
  void train_step(std::size_t first, std::size_t count);
  void take_losses();
  Score score(SampleSet set, std::span<const std::int64_t> indices);
  double measure_latency_ms();
  void check_held_out(const Score& validation, const Score& test);

  /// From the state of an earlier job, if there is one that fits, else from the parent's weights, if the
  /// trial inherits, else from the values drawn.
  void start();
  void inherit();
  bool load(const objective::TrainingState& state);
  void save();
  /// Whether the slot wants the trial to end; then the state is saved and failure_ set.
  bool stop();

  const TrainingSetup& setup_;
  const objective::Trial& trial_;
  objective::EvaluationContext& context_;
  std::unique_ptr<Learner> learner_;
  std::int64_t steps_per_epoch_ = 0;
  std::int64_t total_steps_ = 0;
  std::int64_t first_step_ = 0;  // of this job
  std::int64_t steps_done_ = 0;
  std::int64_t steps_ahead_ = 0;  // begun, their losses not looked at
  double recent_loss_sum_ = 0;    // of the current epoch
  std::int64_t recent_steps_ = 0;
  std::optional<objective::Failure> failure_;
};

}  // namespace skyline::train
