#pragma once

#include "skyline/trial/evaluator.hpp"
#include "skyline/trial/trial.hpp"
#include "skyline/trial/trial_group.hpp"

#include "train/group/group_agreement.hpp"
#include "train/learner/learner.hpp"
#include "train/loop/epoch_choice.hpp"
#include "train/loop/learning_curve.hpp"
#include "train/parameters/optimizer.hpp"
#include "train/quantized/int8_scoring.hpp"
#include "train/scoring/answers.hpp"
#include "train/sharing/admission_gate.hpp"
#include "trial/refit.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace skyline::train {

/// One trial from the first step, or the one after the saved state, to the last measurement. Used once, by
/// one thread. In a group each member has one, and all do the same, because they agree after each step on the
/// next. Only the leader reads and writes states and weights, and measures the latency.
class TrainingLoop {
 public:
  /// @param permit  permit for a device that other trials share, or nullptr
  TrainingLoop(const TrainingSetup& setup, const trial::Trial& trial, trial::EvaluationContext& context,
               AdmissionGate::Permit* permit);
  trial::Outcome run();
  /// Returns the learning curve so far, also after run() has thrown.
  std::vector<trial::CurvePoint> course() const;

 private:
  // Parts of a trial. A part that ends the trial early sets failure_.
  void train();
  void train_epoch();
  void train_step(std::size_t first, std::size_t count);
  void collect_losses();
  void diverge(std::int64_t step, const std::string& reason);
  bool judges_epochs() const {
    return trial_.is_final() && !trial::is_refit(trial_) && setup_.options.full.judges_epochs();
  }
  bool keeps_best() const {
    return judges_epochs() && setup_.options.full.keep == FinalTrainingOptions::Keep::kBest;
  }
  bool epoch_is_compared() const;
  bool epoch_waits_for_judgement() const;
  bool has_trained() const;
  double kept_epochs() const;
  void judge_epoch();
  void compare_epoch(const Score& validation);
  Score score_validation();
  bool may_recalibrate(std::int64_t batch);
  Score score_trained();
  Score score(SampleSet set, std::span<const std::int64_t> indices, Answers* answers = nullptr,
              const Int8Scoring* int8 = nullptr);
  Score score_test();
  bool measures_int8() const {
    const Int8Trials trials = setup_.options.int8;
    return trials == Int8Trials::kAll || (trials == Int8Trials::kFinal && trial_.is_final());
  }
  void score_in_int8(Score& validation, Score& test);
  double measure_latency_ms();
  double time_inference(bool& stopped);
  void let_others_measure();
  std::vector<double> values_of(const Score& score) const;
  void check_held_out(const Score& validation, const Score& test);

  /// Chooses the start: a saved state, from an earlier job or of the trial that is continued, if one fits;
  /// else the parent's weights if the trial inherits; else the drawn values.
  enum class Source { kFresh, kSaved, kInherited };
  void start();
  Source start_alone();
  void start_like_leader(Source source);
  Source inherit();
  bool load(const trial::TrainingState& state);
  bool save_due();
  void save();
  void save_last();
  void fill(trial::TrainingState& state) const;
  /// Ends the trial early if the slot asks for it. Returns whether it did.
  bool stop();
  /// Saves the state and sets failure_, unless it is already set.
  void end_early();

  bool leads() const { return group_ == nullptr || group_->member() == 0; }
  /// In a group: sums `values` over the members, and agrees on what to do before the next step.
  void agree(std::span<double> values, bool may_save);
  double epochs_done() const {
    return static_cast<double>(steps_done_) / static_cast<double>(steps_per_epoch_);
  }

  const TrainingSetup& setup_;
  const trial::Trial& trial_;
  trial::EvaluationContext& context_;
  AdmissionGate::Permit* permit_;  // nullptr if the trial shares no device
  trial::TrialGroup* group_;       // nullptr if the trial has no group
  Wishes agreed_;                  // wishes on which the group has agreed
  std::unique_ptr<Learner> learner_;
  std::int64_t steps_per_epoch_ = 0;
  std::int64_t total_steps_ = 0;
  LearningRate rate_;
  LearningCurve course_;
  EpochChoice choice_;           // used if epochs are judged, or compared with those of other trials
  std::int64_t first_step_ = 0;  // first step in this job
  std::int64_t steps_done_ = 0;
  std::int64_t steps_ahead_ = 0;      // begun steps whose losses have not been read
  std::vector<double> batch_losses_;  // losses from the last call of collect_losses in a group
  double recent_loss_sum_ = 0;        // sum over the current epoch
  std::int64_t recent_steps_ = 0;
  std::optional<double> latency_median_ms_;
  bool diverged_ = false;  // the training has ended early, and its best epoch is its result
  bool pruned_ = false;    // the training has ended early, because it fell behind others
  std::optional<trial::Failure> failure_;
};

}  // namespace skyline::train
