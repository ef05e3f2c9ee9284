#include "train/loop/training_loop.hpp"

#include "skyline/core/error.hpp"

#include "core/log.hpp"
#include "train/batches/batch_source.hpp"
#include "trial/scope_timer.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

namespace skyline::train {
namespace {

using trial::FailureKind;

EpochBatches batches_of(const TrainingSetup& setup) {
  const auto batch = static_cast<std::size_t>(setup.options.batch);
  const std::int64_t count = steps_per_epoch(setup.split.train.size(), setup.options.batch);
  const std::size_t last = setup.split.train.size() - (static_cast<std::size_t>(count) - 1) * batch;
  return {count, count == 1 ? 1 : static_cast<double>(last) / static_cast<double>(batch)};
}

}  // namespace

TrainingLoop::TrainingLoop(const TrainingSetup& setup, const trial::Trial& trial,
                           trial::EvaluationContext& context, AdmissionGate::Permit* permit)
    : setup_(setup),
      trial_(trial),
      context_(context),
      permit_(permit),
      group_(context.group()),
      learner_(std::make_unique<Learner>(setup, trial, group_)),
      steps_per_epoch_(steps_per_epoch(setup.split.train.size(), setup.options.batch)),
      total_steps_(steps_for(trial.budget().epochs, setup.split.train.size(), setup.options.batch)),
      rate_(setup.options, steps_per_epoch_,
            steps_for(trial.horizon().epochs, setup.split.train.size(), setup.options.batch)),
      course_(setup.options.metrics.size(), batches_of(setup)),
      choice_(setup.options.metrics.size(), find_metric(setup.options.metrics.front().name)->better) {
  require(trial.members == (group_ == nullptr ? 1 : group_->members()),
          "a trial with another group than it asks for");
}

trial::Outcome TrainingLoop::run() {
  start();
  train();
  if (!failure_ && pruned_) return trial::Measurements{.values = {}, .extent = trial::Extent::kPruned};
  if (!failure_ && trial_.may_be_continued()) save_last();
  Score validation;
  Score test;
  if (!failure_) {
    validation = score_trained();
    if (!judges_epochs()) course_.add_score(validation);
  }
  if (!failure_ && trial_.is_final()) test = score_test();
  if (!failure_) check_held_out(validation, test);
  Score int8_validation;
  Score int8_test;
  if (!failure_ && measures_int8()) score_in_int8(int8_validation, int8_test);
  double latency_ms = std::numeric_limits<double>::quiet_NaN();
  if (!failure_ && setup_.measure_latency) latency_ms = measure_latency_ms();
  if (failure_) return *failure_;
  if (leads() && context_.weights().wanted()) context_.weights().keep(learner_->export_tensors());
  // No step of this epoch counts if its first one diverged.
  const double train_loss = recent_steps_ > 0 ? recent_loss_sum_ / static_cast<double>(recent_steps_)
                                              : course_.points().back().train_loss;
  std::vector<double> values = values_of(validation);
  for (const double value : {validation.loss, train_loss, latency_ms}) values.push_back(value);
  for (const double value : values_of(test)) values.push_back(value);
  values.push_back(static_cast<double>(steps_done_));
  if (setup_.options.full.judges_epochs()) values.push_back(kept_epochs());
  for (const Score* const score : {&int8_validation, &int8_test}) {
    if (setup_.options.int8 == Int8Trials::kNone) break;
    for (const double value : values_of(*score)) values.push_back(value);
  }
  return trial::Measurements{std::move(values)};
}

std::vector<trial::CurvePoint> TrainingLoop::course() const {
  std::vector<trial::CurvePoint> course;
  for (const LearningCurve::Point& point : course_.points()) {
    course.push_back(
        {point.step, {{"train_loss", point.train_loss}, {"learning_rate", point.learning_rate}}});
    if (std::isnan(point.validation.loss)) continue;
    std::vector<trial::NamedNumber>& values = course.back().values;
    values.push_back({"validation_loss", point.validation.loss});
    for (std::size_t i = 0; i < point.validation.metrics.size(); ++i) {
      values.push_back({"validation_" + setup_.options.metrics[i].name, point.validation.metrics[i]});
    }
  }
  if (latency_median_ms_) course.back().values.push_back({"latency_median_ms", *latency_median_ms_});
  return course;
}

void TrainingLoop::train() {
  while (!failure_ && !diverged_ && !pruned_ && !has_trained()) {
    if (epoch_waits_for_judgement()) {
      judge_epoch();
    } else {
      train_epoch();
    }
  }
}

bool TrainingLoop::has_trained() const {
  const std::int64_t patience = setup_.options.full.patience;
  if (epoch_waits_for_judgement()) return false;
  return steps_done_ == total_steps_ ||
         (trial_.is_final() && patience > 0 && choice_.epochs_waited() >= patience);
}

/// Returns whether a declared step (`search.pruning`) has just ended.
bool TrainingLoop::epoch_is_compared() const {
  if (steps_done_ % steps_per_epoch_ != 0) return false;
  const std::int64_t epoch = steps_done_ / steps_per_epoch_;
  return std::ranges::find(trial_.bars, epoch, &trial::PruningBar::step) != trial_.bars.end();
}

bool TrainingLoop::epoch_waits_for_judgement() const {
  const bool at_end = steps_done_ % steps_per_epoch_ == 0 || steps_done_ == total_steps_;
  return at_end && (judges_epochs() || epoch_is_compared()) && choice_.judged_step() < steps_done_;
}

/// Trains the rest of the epoch to which the next step belongs.
void TrainingLoop::train_epoch() {
  const auto epoch = static_cast<std::uint64_t>(steps_done_ / steps_per_epoch_);
  const std::vector<std::int64_t> order = epoch_order(setup_.split.train, trial_.seed, epoch);
  const trial::ScopeTimer timer(context_.timing(), &trial::TrialTiming::train_s);
  learner_->begin_epoch(epoch, order);
  const auto batch = static_cast<std::size_t>(setup_.options.batch);
  std::size_t first = static_cast<std::size_t>(steps_done_ % steps_per_epoch_) * batch;
  if (first == 0) {
    recent_loss_sum_ = 0;
    recent_steps_ = 0;
  }
  const auto goes_on = [&] { return !failure_ && !diverged_; };
  for (; goes_on() && first < order.size() && steps_done_ < total_steps_ && !stop(); first += batch) {
    train_step(first, std::min(batch, order.size() - first));
    if (goes_on() && save_due()) save();
  }
}

/// Trains on `count` samples, beginning at place `first` of the epoch's order.
void TrainingLoop::train_step(std::size_t first, std::size_t count) {
  learner_->step(first, count);
  ++steps_done_;
  ++steps_ahead_;
  const bool epoch_ends = steps_done_ % steps_per_epoch_ == 0 || steps_done_ == total_steps_;
  if (steps_ahead_ == learner_->most_steps_ahead() || epoch_ends) collect_losses();
}

/// Ends the training in the step whose loss is not finite. If its best epoch is kept, this is its result, as
/// if the training had ended there.
void TrainingLoop::diverge(std::int64_t step, const std::string& reason) {
  if (!keeps_best() || choice_.judged_step() == 0) {
    failure_ = {FailureKind::kDiverged, reason};
    return;
  }
  diverged_ = true;
  steps_done_ = step;  // steps that were begun after it do not count
  if (leads()) log::warning("trial " + to_text(trial_.name()) + ": " + reason + "; its best epoch is kept");
}

/// Collects the losses of the steps since the last call.
void TrainingLoop::collect_losses() {
  std::int64_t step = steps_done_ - std::exchange(steps_ahead_, 0);
  std::span<const double> losses = learner_->losses();
  let_others_measure();
  if (group_ != nullptr) {
    batch_losses_.assign(losses.begin(), losses.end());
    agree(batch_losses_, true);
    losses = batch_losses_;
  }
  for (const double loss : losses) {
    ++step;
    if (!std::isfinite(loss)) {
      const char* what = std::isnan(loss) ? "NaN" : "infinite";
      return diverge(step, std::string("loss became ") + what + " in step " + std::to_string(step));
    }
    recent_loss_sum_ += loss;
    ++recent_steps_;
    course_.add(step, loss, rate_.at(step - 1));
  }
}

}  // namespace skyline::train
