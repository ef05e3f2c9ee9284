#include "train/trial_run.hpp"

#include "skyline/core/error.hpp"
#include "skyline/core/log.hpp"

#include "train/inheritance.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace skyline::train {
namespace {

using Clock = std::chrono::steady_clock;
using objective::FailureKind;

constexpr std::int64_t kStepsBetweenReports = 16;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

constexpr const char* kLossSum = "loss_sum";  // of the last step's epoch

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

TrialRun::TrialRun(const TrainingSetup& setup, const objective::Trial& trial,
                   objective::EvaluationContext& context)
    : setup_(setup),
      trial_(trial),
      context_(context),
      learner_(make_host_learner(setup, trial)),
      steps_per_epoch_(steps_per_epoch(setup.split.train.size(), setup.options.batch)),
      total_steps_(steps_for(trial.epochs, setup.split.train.size(), setup.options.batch)) {}

objective::Outcome TrialRun::run() {
  start();
  train();
  Score validation;
  Score test;
  if (!failure_) {
    validation = score(SampleSet::kTrain, setup_.split.validation);
  }
  if (!failure_ && trial_.phase == objective::Phase::kFinal) {
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
  if (context_.wants_weights()) {
    context_.keep_weights(learner_->export_tensors());
  }
  context_.progress(1);
  const double train_loss = recent_loss_sum_ / static_cast<double>(recent_steps_);
  return objective::Measurements{{validation.accuracy, validation.loss, train_loss, latency_ms, test.accuracy,
                                  static_cast<double>(steps_done_)}};
}

void TrialRun::train() {
  while (!failure_ && steps_done_ < total_steps_) {
    train_epoch();
  }
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
  for (; first < order.size() && steps_done_ < total_steps_ && !stop(); first += batch) {
    train_step(first, std::min(batch, order.size() - first));
    if (failure_) {
      return;
    }
    if (context_.save_due(static_cast<double>(steps_done_) / static_cast<double>(steps_per_epoch_))) {
      save();
    }
  }
}

/// On `count` samples from place `first` of the epoch's order on.
void TrialRun::train_step(std::size_t first, std::size_t count) {
  if (steps_done_ % kStepsBetweenReports == 0) {
    context_.progress(static_cast<double>(steps_done_) / static_cast<double>(total_steps_));
  }
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
  for (const double loss : learner_->losses()) {
    ++step;
    if (!std::isfinite(loss)) {
      const char* what = std::isnan(loss) ? "NaN" : "infinite";
      failure_ = {FailureKind::kDiverged,
                  std::string("loss became ") + what + " in step " + std::to_string(step)};
      return;
    }
    recent_loss_sum_ += loss;
    ++recent_steps_;
  }
}

Score TrialRun::score(SampleSet set, std::span<const std::int64_t> indices) {
  const ScopeTimer timer(context_.timing().validate_s);
  if (indices.empty()) {
    return {};
  }
  const std::size_t batch = learner_->evaluation_batch();
  kernels::BatchScore total;
  for (std::size_t first = 0; first < indices.size(); first += batch) {
    if (stop()) {
      return {};
    }
    const kernels::BatchScore part =
        learner_->score(set, indices.subspan(first, std::min(batch, indices.size() - first)));
    total.loss_sum += part.loss_sum;
    total.correct += part.correct;
  }
  const auto samples = static_cast<double>(indices.size());
  return {static_cast<double>(total.correct) / samples, total.loss_sum / samples};
}

/// The last update may have been the one that diverged: no training loss was computed after it.
void TrialRun::check_held_out(const Score& validation, const Score& test) {
  const bool validated = !setup_.split.validation.empty();
  const bool tested = trial_.phase == objective::Phase::kFinal && !setup_.test_indices.empty();
  if ((validated && !std::isfinite(validation.loss)) || (tested && !std::isfinite(test.loss))) {
    failure_ = {FailureKind::kDiverged,
                "the loss on held-out data is not finite after step " + std::to_string(steps_done_)};
  }
}

/// NaN if the slot stops it.
double TrialRun::measure_latency_ms() {
  const ScopeTimer timer(context_.timing().latency_s);
  const LatencyOptions& options = setup_.options.latency;
  std::vector<std::int64_t> indices(static_cast<std::size_t>(options.batch));
  for (std::size_t i = 0; i < indices.size(); ++i) {
    indices[i] = setup_.split.train[i % setup_.split.train.size()];
  }
  learner_->hold(indices);
  for (int i = 0; i < options.warmup && !stop(); ++i) {
    learner_->infer_held();
  }
  std::vector<double> times_ms;
  for (int i = 0; i < options.repeats && !failure_ && !stop(); ++i) {
    const Clock::time_point start = Clock::now();
    learner_->infer_held();
    times_ms.push_back(1e3 * seconds_since(start));
  }
  if (failure_) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  std::sort(times_ms.begin(), times_ms.end());
  const std::size_t middle = times_ms.size() / 2;
  return times_ms.size() % 2 == 1 ? times_ms[middle] : (times_ms[middle - 1] + times_ms[middle]) / 2;
}

void TrialRun::start() {
  const objective::TrainingState* state = context_.saved_state();
  if (state != nullptr && load(*state)) {
    return;
  }
  if (state != nullptr) {
    log::warning("the saved state of trial " + std::to_string(trial_.number) +
                 " does not fit it: the trial starts from the beginning");
  }
  if (trial_.inherits != nullptr) {
    inherit();
  }
}

void TrialRun::inherit() {
  const auto trained = context_.inherited_weights();
  if (trained == nullptr && stop()) {
    return;
  }
  require(trained != nullptr, "a trial that inherits was not given its parent's weights");
  learner_->import_tensors(inherit_weights(trial_.inherits->architecture->network, *trained,
                                           trial_.architecture().network, learner_->export_tensors()));
}

bool TrialRun::load(const objective::TrainingState& state) {
  const bool has_sum = state.numbers.size() == 1 && state.numbers.front().name == kLossSum;
  if (!has_sum || state.step < 1 || state.step > total_steps_ || !learner_->load_state(state)) {
    return false;
  }
  first_step_ = steps_done_ = state.step;
  recent_loss_sum_ = state.numbers.front().value;
  recent_steps_ = (steps_done_ - 1) % steps_per_epoch_ + 1;
  return true;
}

void TrialRun::save() {
  if (steps_ahead_ > 0) {
    take_losses();
  }
  context_.save([this](objective::TrainingState& state) {
    learner_->save_state(state);
    state.numbers = {{kLossSum, recent_loss_sum_}};
  });
}

bool TrialRun::stop() {
  if (!context_.stop_requested()) {
    return false;
  }
  if (steps_done_ > first_step_) {  // else there is nothing new
    save();
  }
  failure_ = {FailureKind::kStopped, "stopped on request in step " + std::to_string(steps_done_) + " of " +
                                         std::to_string(total_steps_)};
  return true;
}

}  // namespace skyline::train
