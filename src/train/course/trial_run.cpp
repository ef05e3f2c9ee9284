#include "train/course/trial_run.hpp"

#include "skyline/core/error.hpp"

#include "core/backoff.hpp"
#include "train/course/batch_source.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <utility>

namespace skyline::train {
namespace {

using Clock = std::chrono::steady_clock;
using trial::FailureKind;

/// Batches that a member of a group takes in a row beside training: so long may a stop take.
constexpr std::size_t kBatchesBetweenAgreements = 8;
/// Of life, from a leader that measures to the members that wait for it.
constexpr double kSecondsBetweenSigns = 1;

/// Adds the time of a scope to a number.
class ScopeTimer {
 public:
  explicit ScopeTimer(double& total_s) : total_s_(total_s) {}
  ~ScopeTimer() { total_s_ += seconds_since(start_); }
  ScopeTimer(const ScopeTimer&) = delete;
  ScopeTimer& operator=(const ScopeTimer&) = delete;

 private:
  double& total_s_;
  Clock::time_point start_ = Clock::now();
};

}  // namespace

std::int64_t steps_per_epoch(std::size_t samples, std::int64_t batch) {
  return (static_cast<std::int64_t>(samples) + batch - 1) / batch;
}

std::int64_t steps_for(double epochs, std::size_t samples, std::int64_t batch) {
  const auto whole = static_cast<double>(steps_per_epoch(samples, batch));
  return std::max<std::int64_t>(1, std::llround(epochs * whole));
}

TrialRun::TrialRun(const TrainingSetup& setup, const trial::Trial& trial, trial::EvaluationContext& context,
                   AdmissionGate::Permit* permit)
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
      course_(setup.options.metrics.size()),
      choice_(setup.options.metrics.size(), find_metric(setup.options.metrics.front().name)->better) {
  require(trial.members == (group_ == nullptr ? 1 : group_->members()),
          "a trial with another group than it asks for");
}

trial::Outcome TrialRun::run() {
  start();
  train();
  if (!failure_ && trial_.may_be_continued()) {
    save_last();
  }
  Score validation;
  Score test;
  if (!failure_) {
    validation = score_trained();
    if (!judges_epochs()) course_.add_score(validation);
  }
  if (!failure_ && trial_.is_final()) {
    test = score(SampleSet::kTest, setup_.test_indices);
  }
  if (!failure_) {
    check_held_out(validation, test);
  }
  double latency_ms = std::numeric_limits<double>::quiet_NaN();
  if (!failure_ && setup_.measure_latency) {
    latency_ms = measure_latency_ms();
  }
  if (failure_) {
    return *failure_;
  }
  if (leads() && context_.weights().wanted()) {
    context_.weights().keep(learner_->export_tensors());
  }
  context_.report(course_.points());
  const double train_loss = recent_loss_sum_ / static_cast<double>(recent_steps_);
  std::vector<double> values = values_of(validation);
  for (const double value : {validation.loss, train_loss, latency_ms}) values.push_back(value);
  for (const double value : values_of(test)) values.push_back(value);
  values.push_back(static_cast<double>(steps_done_));
  return trial::Measurements{std::move(values)};
}

/// NaN where the set was not scored.
std::vector<double> TrialRun::values_of(const Score& score) const {
  std::vector<double> values = score.metrics;
  values.resize(setup_.options.metrics.size(), std::nan(""));
  return values;
}

void TrialRun::train() {
  while (!failure_ && !has_trained()) {
    if (epoch_waits_for_judgement()) {
      judge_epoch();
    } else {
      train_epoch();
    }
  }
}

bool TrialRun::has_trained() const {
  const std::int64_t patience = setup_.options.full.patience;
  if (epoch_waits_for_judgement()) return false;
  return steps_done_ == total_steps_ ||
         (trial_.is_final() && patience > 0 && choice_.epochs_waited() >= patience);
}

bool TrialRun::epoch_waits_for_judgement() const {
  const bool at_end = steps_done_ % steps_per_epoch_ == 0 || steps_done_ == total_steps_;
  return judges_epochs() && at_end && choice_.judged_step() < steps_done_;
}

/// As the trial would be scored if it ended here.
void TrialRun::judge_epoch() {
  learner_->swap_average();
  const Score validation = score_validation();
  if (!failure_) {
    course_.add_score(validation);
    const bool best = choice_.judge(steps_done_, validation);
    if (best && setup_.options.full.keep == FinalTrainingOptions::Keep::kBest) learner_->keep_best();
  }
  learner_->swap_average();
}

/// With the weights that are tested and kept, from now on.
Score TrialRun::score_trained() {
  learner_->swap_average();
  if (!judges_epochs()) return score_validation();
  if (setup_.options.full.keep == FinalTrainingOptions::Keep::kLast) return choice_.last();
  learner_->restore_best();
  return choice_.best();
}

Score TrialRun::score_validation() {
  if (setup_.options.recalibrate > 0) {
    const ScopeTimer timer(context_.timing().train_s);
    if (!learner_->recalibrate([this](std::int64_t batch) { return may_recalibrate(batch); })) {
      end_early();
      return {};
    }
  }
  return score(validation_set(setup_.split), validation_of(setup_.split, trial_));
}

/// A stop is not to wait for all batches. Members of a group agree on it.
bool TrialRun::may_recalibrate(std::int64_t batch) {
  let_others_measure();
  if (group_ == nullptr) return !context_.control().stop_requested();
  if (batch % static_cast<std::int64_t>(kBatchesBetweenAgreements) == 0) agree({}, false);
  return !agreed_.stop;
}

/// The rest of the epoch that the next step is in.
void TrialRun::train_epoch() {
  const auto epoch = static_cast<std::uint64_t>(steps_done_ / steps_per_epoch_);
  const std::vector<std::int64_t> order = epoch_order(setup_.split.train, trial_.seed, epoch);
  const ScopeTimer timer(context_.timing().train_s);
  learner_->begin_epoch(epoch, order);
  const auto batch = static_cast<std::size_t>(setup_.options.batch);
  std::size_t first = static_cast<std::size_t>(steps_done_ % steps_per_epoch_) * batch;
  if (first == 0) {
    recent_loss_sum_ = 0;
    recent_steps_ = 0;
  }
  for (; !failure_ && first < order.size() && steps_done_ < total_steps_ && !stop(); first += batch) {
    train_step(first, std::min(batch, order.size() - first));
    if (!failure_ && save_due()) {
      save();
    }
  }
}

/// On `count` samples from place `first` of the epoch's order on.
void TrialRun::train_step(std::size_t first, std::size_t count) {
  learner_->step(first, count);
  ++steps_done_;
  ++steps_ahead_;
  const bool epoch_ends = steps_done_ % steps_per_epoch_ == 0 || steps_done_ == total_steps_;
  if (steps_ahead_ == learner_->most_steps_ahead() || epoch_ends) {
    take_losses();
  }
}

/// Of the steps begun since the last call.
void TrialRun::take_losses() {
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
      failure_ = {FailureKind::kDiverged,
                  std::string("loss became ") + what + " in step " + std::to_string(step)};
      return;
    }
    recent_loss_sum_ += loss;
    ++recent_steps_;
    course_.add(step, loss, rate_.at(step - 1));
  }
}

Score TrialRun::score(SampleSet set, std::span<const std::int64_t> indices) {
  const ScopeTimer timer(context_.timing().validate_s);
  if (indices.empty()) {
    return {};
  }
  const std::size_t batch = learner_->evaluation_batch();
  const std::size_t batches = (indices.size() + batch - 1) / batch;
  const std::size_t members = group_ == nullptr ? 1 : group_->members();
  const std::size_t member = group_ == nullptr ? 0 : group_->member();
  const std::size_t most_at_once = group_ == nullptr ? 1 : members * kBatchesBetweenAgreements;
  const std::size_t outputs = setup_.options.problem.outputs;
  const std::size_t numbers = 1 + batch * outputs;  // of a batch: its loss, and the outputs of its samples
  Scorer scorer(setup_.options.metrics, part_of(*setup_.dataset, set), outputs);
  for (std::size_t done = 0; done < batches; done += most_at_once) {
    if (stop()) {
      return {};
    }
    let_others_measure();
    // Of each batch, from the one member that scores it: taken in the order of the batches, the results are
    // the same bits whatever the members.
    const std::size_t count = std::min(most_at_once, batches - done);
    const auto samples_of = [&](std::size_t i) {
      const std::size_t first = (done + i) * batch;
      return indices.subspan(first, std::min(batch, indices.size() - first));
    };
    if (group_ == nullptr) {
      const ScoredBatch scored = learner_->score(set, samples_of(0));
      scorer.add(samples_of(0), scored.loss_sum, scored.outputs);
      continue;
    }
    std::vector<double> scores(numbers * count, 0.0);
    for (std::size_t i = member; i < count; i += members) {
      const ScoredBatch scored = learner_->score(set, samples_of(i));
      scores[i * numbers] = scored.loss_sum;
      std::ranges::copy(scored.outputs, scores.begin() + static_cast<std::ptrdiff_t>(i * numbers + 1));
    }
    agree(scores, false);
    for (std::size_t i = 0; i < count; ++i) {
      const auto own = std::span(scores).subspan(i * numbers + 1, samples_of(i).size() * outputs);
      scorer.add(samples_of(i), scores[i * numbers], std::vector<float>(own.begin(), own.end()));
    }
  }
  return scorer.score();
}

/// The last update may have been the one that diverged: no training loss was computed after it.
void TrialRun::check_held_out(const Score& validation, const Score& test) {
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

/// Of no use if the slot stops it.
double TrialRun::measure_latency_ms() {
  const Clock::time_point begin = Clock::now();
  bool stopped = false;
  double latency_ms = 0;
  const auto measure = [&] {
    context_.timing().wait_s += seconds_since(begin);
    const ScopeTimer timer(context_.timing().latency_s);
    latency_ms = time_inference(stopped);
  };
  if (leads() && permit_ == nullptr) {
    measure();
  } else if (leads()) {
    permit_->measure_alone(measure);
  }
  if (group_ != nullptr) {
    const ScopeTimer timer(context_.timing().latency_s);
    std::array<double, 3> told = {latency_ms, stopped ? 1.0 : 0.0, 0.0};
    do {
      broadcast_numbers(*group_, told);
    } while (told[2] > 0);  // the leader still measures
    latency_ms = told[0];
    stopped = told[1] > 0;
  }
  if (stopped) {
    end_early();
  }
  return latency_ms;
}

/// At moments when nothing of this trial is queued on the device.
void TrialRun::let_others_measure() {
  if (permit_ != nullptr) {
    permit_->let_others_measure();
  }
}

/// @param stopped  set if the slot stops it; then NaN
double TrialRun::time_inference(bool& stopped) {
  const LatencyOptions& options = setup_.options.latency;
  std::vector<std::int64_t> indices(static_cast<std::size_t>(options.batch));
  for (std::size_t i = 0; i < indices.size(); ++i) {
    indices[i] = setup_.split.train[i % setup_.split.train.size()];
  }
  learner_->hold(indices);
  Clock::time_point sign_given = Clock::now();
  const auto goes_on = [&] {
    stopped = stopped || context_.control().stop_requested();
    if (!stopped && group_ != nullptr && seconds_since(sign_given) >= kSecondsBetweenSigns) {
      std::array<double, 3> still_measuring = {0.0, 0.0, 1.0};
      broadcast_numbers(*group_, still_measuring);
      sign_given = Clock::now();
    }
    return !stopped;
  };
  for (int i = 0; i < options.warmup && goes_on(); ++i) {
    learner_->infer_held();
  }
  std::vector<double> times_ms;
  for (int i = 0; i < options.repeats && goes_on(); ++i) {
    const Clock::time_point start = Clock::now();
    learner_->infer_held();
    times_ms.push_back(1e3 * seconds_since(start));
  }
  if (stopped) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  std::sort(times_ms.begin(), times_ms.end());
  const std::size_t middle = times_ms.size() / 2;
  return times_ms.size() % 2 == 1 ? times_ms[middle] : (times_ms[middle - 1] + times_ms[middle]) / 2;
}

}  // namespace skyline::train
