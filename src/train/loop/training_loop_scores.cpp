// Scores a trial, and measures its latency.

#include "skyline/core/error.hpp"

#include "core/log.hpp"
#include "train/loop/latency.hpp"
#include "train/loop/training_loop.hpp"
#include "trial/scope_timer.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>

namespace skyline::train {
namespace {

using trial::FailureKind;

/// Batches that a member of a group scores in a row; a stop may take that long.
constexpr std::size_t kBatchesBetweenAgreements = 8;

}  // namespace

/// Scores the epoch with the weights that the trial would keep if it ended now.
void TrainingLoop::judge_epoch() {
  learner_->swap_average();
  const Score validation = score_validation();
  if (!failure_) {
    course_.add_score(validation);
    const bool best = choice_.judge(steps_done_, validation);
    if (best && keeps_best()) learner_->keep_best();
    if (epoch_is_compared()) compare_epoch(validation);
  }
  learner_->swap_average();
}

/// Compares the trial with others after a declared step. The leader decides for its group.
void TrainingLoop::compare_epoch(const Score& validation) {
  std::array<double, 1> ends = {0};
  if (trial::TrialPruning* const pruning = context_.pruning()) {
    trial::CurvePoint point{.step = steps_done_ / steps_per_epoch_};
    for (std::size_t i = 0; i < validation.metrics.size(); ++i) {
      point.values.push_back({"validation_" + setup_.options.metrics[i].name, validation.metrics[i]});
    }
    ends[0] = pruning->decide(point) ? 1 : 0;
  }
  if (group_ != nullptr) broadcast_numbers(*group_, ends);
  pruned_ = ends[0] > 0;
}

/// Returns after how many epochs the kept weights were those of the training; NaN if no epoch was judged.
/// Each epoch is judged once; the last one may be a part.
double TrainingLoop::kept_epochs() const {
  if (!judges_epochs()) return std::numeric_limits<double>::quiet_NaN();
  if (!keeps_best()) return epochs_done();
  const std::int64_t judged = (choice_.judged_step() + steps_per_epoch_ - 1) / steps_per_epoch_;
  const std::int64_t best = judged - choice_.epochs_waited();
  return static_cast<double>(std::min(best * steps_per_epoch_, choice_.judged_step())) /
         static_cast<double>(steps_per_epoch_);
}

/// Scores the weights that will be tested and kept, and keeps them in place from now on.
Score TrainingLoop::score_trained() {
  learner_->swap_average();
  if (!judges_epochs()) return score_validation();
  if (!keeps_best()) return choice_.last();
  learner_->restore_best();
  return choice_.best();
}

Score TrainingLoop::score_validation() {
  if (setup_.options.recalibrate > 0) {
    const trial::ScopeTimer timer(context_.timing(), &trial::TrialTiming::train_s);
    if (!learner_->recalibrate([this](std::int64_t batch) { return may_recalibrate(batch); })) {
      end_early();
      return {};
    }
  }
  return score(validation_set(setup_.split), validation_of(setup_.split, trial_));
}

/// Returns whether to go on, so that a stop need not wait for all batches. Members of a group agree on it.
bool TrainingLoop::may_recalibrate(std::int64_t batch) {
  let_others_measure();
  if (group_ == nullptr) return !context_.control().stop_requested();
  if (batch % static_cast<std::int64_t>(kBatchesBetweenAgreements) == 0) agree({}, false);
  return !agreed_.stop;
}

Score TrainingLoop::score_test() {
  // The report shows what was compared.
  if (!context_.weights().wanted() || trial::is_refit(trial_))
    return score(SampleSet::kTest, setup_.test_indices);
  Answers answers(*setup_.dataset, setup_.dataset->test(), setup_.options.metrics);
  const Score score = this->score(SampleSet::kTest, setup_.test_indices, &answers);
  if (!failure_) context_.weights().keep_answers(answers.json());
  return score;
}

/// Scores the int8 network of the trained weights, which every member of a group makes alike. What has none
/// is not measured: its training is a result nevertheless.
void TrainingLoop::score_in_int8(Score& validation, Score& test) {
  std::vector<trial::NamedTensor> tensors = learner_->export_tensors();
  const space::Network& network = trial_.architecture().network();
  space::Int8Network made;
  try {
    const trial::ScopeTimer timer(context_.timing(), &trial::TrialTiming::validate_s);
    made = quantize(setup_, network, tensors);
  } catch (const UserError& problem) {
    if (leads()) log::warning("trial " + to_text(trial_.name()) + ": " + problem.what());
    return;
  }
  const Int8Scoring int8(setup_, network, std::move(tensors), std::move(made));
  validation =
      score(validation_set(setup_.split), validation_of(setup_.split, trial_), /*answers=*/nullptr, &int8);
  if (!failure_ && trial_.is_final())
    test = score(SampleSet::kTest, setup_.test_indices, /*answers=*/nullptr, &int8);
}

/// @param answers  receives the answers, too, unless it is nullptr
/// @param int8     scores in place of the trained network, unless it is nullptr
Score TrainingLoop::score(SampleSet set, std::span<const std::int64_t> indices, Answers* answers,
                          const Int8Scoring* int8) {
  const trial::ScopeTimer timer(context_.timing(), &trial::TrialTiming::validate_s);
  if (indices.empty()) return {};
  const std::size_t batch = learner_->evaluation_batch();
  const std::size_t batches = (indices.size() + batch - 1) / batch;
  const std::size_t members = group_ == nullptr ? 1 : group_->members();
  const std::size_t member = group_ == nullptr ? 0 : group_->member();
  const std::size_t most_at_once = group_ == nullptr ? 1 : members * kBatchesBetweenAgreements;
  const std::size_t outputs = setup_.options.problem.outputs;
  const std::size_t numbers = 1 + batch * outputs;  // per batch: its loss, and the outputs of its samples
  Scorer scorer(setup_.options.metrics, part_of(*setup_.dataset, set), outputs, setup_.columns);
  const auto add_batch = [&](std::span<const std::int64_t> samples, double loss_sum,
                             std::span<const float> said) {
    scorer.add(samples, loss_sum, said);
    if (answers != nullptr) answers->add(samples, said);
  };
  const auto scored_batch = [&](std::span<const std::int64_t> samples) {
    return int8 != nullptr ? int8->score(set, samples) : learner_->score(set, samples);
  };
  for (std::size_t done = 0; done < batches; done += most_at_once) {
    if (stop()) return {};
    let_others_measure();
    // Each batch is scored by one member. The results are used in the order of the batches, so they have the
    // same bits for any number of members.
    const std::size_t count = std::min(most_at_once, batches - done);
    const auto samples_of = [&](std::size_t i) {
      const std::size_t first = (done + i) * batch;
      return indices.subspan(first, std::min(batch, indices.size() - first));
    };
    if (group_ == nullptr) {
      const ScoredBatch scored = scored_batch(samples_of(0));
      add_batch(samples_of(0), scored.loss_sum, scored.outputs);
      continue;
    }
    std::vector<double> scores(numbers * count, 0.0);
    for (std::size_t i = member; i < count; i += members) {
      const ScoredBatch scored = scored_batch(samples_of(i));
      scores[i * numbers] = scored.loss_sum;
      std::ranges::copy(scored.outputs, scores.begin() + static_cast<std::ptrdiff_t>(i * numbers + 1));
    }
    agree(scores, false);
    for (std::size_t i = 0; i < count; ++i) {
      const auto own = std::span(scores).subspan(i * numbers + 1, samples_of(i).size() * outputs);
      add_batch(samples_of(i), scores[i * numbers], std::vector<float>(own.begin(), own.end()));
    }
  }
  return scorer.score();
}

/// Returns the values of a score, NaN if the set was not scored.
std::vector<double> TrainingLoop::values_of(const Score& score) const {
  std::vector<double> values = score.metrics;
  values.resize(setup_.options.metrics.size(), std::nan(""));
  return values;
}

/// Checks the scores for NaN, because the last update may have diverged: no loss was computed after it.
void TrainingLoop::check_held_out(const Score& validation, const Score& test) {
  const bool validated = !setup_.split.validation.empty();
  const bool tested = trial_.is_final() && !setup_.test_indices.empty();
  const auto is_finite = [](double value) { return std::isfinite(value); };
  if ((validated && !is_finite(validation.loss)) || (tested && !is_finite(test.loss))) {
    failure_ = {FailureKind::kDiverged,
                "the loss on held-out data is not finite after step " + std::to_string(steps_done_)};
  } else if (!std::ranges::all_of(validation.metrics, is_finite)) {
    failure_ = {FailureKind::kDiverged,
                "a metric of the validation set is not finite after step " + std::to_string(steps_done_)};
  }
}

/// Returns a meaningless value if the slot stops the trial meanwhile.
double TrainingLoop::measure_latency_ms() {
  std::optional<trial::TrialWait> wait(std::in_place, context_);
  bool stopped = false;
  double latency_ms = 0;
  const auto measure = [&] {
    wait.reset();
    const trial::ScopeTimer timer(context_.timing(), &trial::TrialTiming::latency_s);
    latency_ms = time_inference(stopped);
  };
  if (leads() && permit_ == nullptr) {
    measure();
  } else if (leads()) {
    permit_->measure_alone(measure);
  }
  wait.reset();
  if (group_ != nullptr) {
    const trial::ScopeTimer timer(context_.timing(), &trial::TrialTiming::latency_s);
    std::array<double, 2> told = {latency_ms, stopped ? 1.0 : 0.0};
    broadcast_numbers(*group_, told);
    latency_ms = told[0];
    stopped = told[1] > 0;
  }
  if (stopped) end_early();
  return latency_ms;
}

/// Called while nothing of this trial is queued on the device.
void TrainingLoop::let_others_measure() {
  if (permit_ == nullptr) return;
  const trial::TrialWait wait(context_);
  permit_->let_others_measure();
}

/// Returns NaN and sets `stopped` if the slot stops the trial.
double TrainingLoop::time_inference(bool& stopped) {
  const auto times = time_passes(*learner_, setup_, [this] { return !context_.control().stop_requested(); });
  stopped = !times;
  if (stopped) return std::numeric_limits<double>::quiet_NaN();
  latency_median_ms_ = times->median_ms;
  return times->least_ms;
}

}  // namespace skyline::train
