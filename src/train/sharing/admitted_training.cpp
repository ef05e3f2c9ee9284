#include "train/sharing/admitted_training.hpp"

#include "core/backoff.hpp"
#include "core/log.hpp"
#include "train/group/group_agreement.hpp"
#include "train/sharing/forwarding_context.hpp"
#include "train/sharing/memory_forecast.hpp"

#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <optional>
#include <utility>

namespace skyline::train {
namespace {

using Clock = std::chrono::steady_clock;
using trial::Failure;
using trial::FailureKind;
using trial::Outcome;

/// The gate is told of steps in bundles: small candidates of many slots make 10^5 a second.
constexpr std::chrono::milliseconds kTellEach{10};

/// Tells the gate of the steps that the trial makes.
class CountedContext final : public ForwardingContext, public trial::TrialState {
 public:
  CountedContext(trial::EvaluationContext& next, AdmissionGate::Permit& permit, std::int64_t steps_per_epoch)
      : ForwardingContext(next),
        next_(next.state()),
        permit_(permit),
        steps_per_epoch_(static_cast<double>(steps_per_epoch)) {}

  trial::TrialState& state() override { return *this; }
  const trial::TrainingState* saved() const override { return next_.saved(); }
  void save(const std::function<void(trial::TrainingState&)>& fill) override { next_.save(fill); }
  /// Asked after each step.
  bool due(double epochs_done) override {
    const Clock::time_point now = Clock::now();
    const std::int64_t steps = std::llround(epochs_done * steps_per_epoch_);
    if (!told_) told_ = steps - 1;  // a trial that goes on from a saved state
    if (now - told_at_ >= kTellEach) {
      permit_.worked(steps - std::exchange(*told_, steps));
      told_at_ = now;
    }
    return next_.due(epochs_done);
  }

 private:
  trial::TrialState& next_;
  AdmissionGate::Permit& permit_;
  double steps_per_epoch_;
  std::optional<std::int64_t> told_;  // steps
  Clock::time_point told_at_ = Clock::now();
};

bool ran_out_of_memory(const Outcome& outcome) {
  const auto* failure = std::get_if<Failure>(&outcome);
  return failure != nullptr && failure->kind == FailureKind::kOutOfMemory;
}

/// Adds the time of a scope to what the trial waited.
class WaitTimer {
 public:
  explicit WaitTimer(trial::EvaluationContext& context) : context_(context) {}
  ~WaitTimer() { context_.timing().wait_s += seconds_since(begin_); }
  WaitTimer(const WaitTimer&) = delete;
  WaitTimer& operator=(const WaitTimer&) = delete;

 private:
  trial::EvaluationContext& context_;
  Clock::time_point begin_ = Clock::now();
};

Failure stopped() {
  return {FailureKind::kStopped, "stopped on request while it waited for the device"};
}

Outcome train_once(AdmissionGate& gate, const Candidate& candidate, const AdmittedTrial& trial,
                   trial::EvaluationContext& context, const TrainingAttempt& attempt) {
  AdmissionGate::Permit permit;
  {
    const WaitTimer timer(context);
    permit = gate.enter(candidate, [&] { return context.control().stop_requested(); });
  }
  if (!permit) return stopped();
  CountedContext counted(context, permit, trial.steps_per_epoch);
  Outcome outcome = attempt(counted, permit);
  if (ran_out_of_memory(outcome)) permit.ran_out_of_memory();
  return outcome;
}

/// The members begin when all may, so that no time limit of theirs runs while one of them waits for a
/// device. Collective.
/// @return  false if the slot stops the trial
bool begin_together(trial::TrialGroup& group, AdmissionGate::Permit& permit,
                    const trial::TrialControl& control) {
  while (true) {
    std::array<double, 1> waiting = {permit.may_begin_with_group() ? 0.0 : 1.0};
    if (agree(group, waiting, {control.stop_requested(), false}).stop) return false;
    if (waiting[0] == 0) return true;
  }
}

Outcome train_member(AdmissionGate& gate, const Candidate& candidate, trial::EvaluationContext& context,
                     const TrainingAttempt& attempt) {
  AdmissionGate::Permit permit = gate.enter(candidate, [] { return false; });
  {
    const WaitTimer timer(context);
    if (!begin_together(*context.group(), permit, context.control())) return stopped();
  }
  return attempt(context, permit);
}

std::string gibibytes(std::size_t bytes) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f GiB", static_cast<double>(bytes) / 0x1p30);
  return text;
}

/// In terms that do not change from run to run: a failure's reason is part of its result.
Failure too_large(const AdmittedTrial& trial, const Candidate& candidate) {
  return {FailureKind::kOutOfMemory,
          "not enough memory for the network with the device to itself: " + gibibytes(candidate.bytes) +
              " expected for " + std::to_string(trial.trial.architecture().network.cost.parameters) +
              " parameters and a batch of " + std::to_string(trial.options.batch) + ", " + trial.device.name +
              " has " + gibibytes(trial.device.memory_bytes)};
}

}  // namespace

Outcome train_when_admitted(AdmissionGate& gate, const AdmittedTrial& trial,
                            trial::EvaluationContext& context, const TrainingAttempt& attempt) {
  const space::Network& network = trial.trial.architecture().network;
  Candidate candidate{predict_device_bytes(network, trial.options, trial.trial.members),
                      predict_step_work(network, trial.options)};
  if (context.group() != nullptr) {
    candidate.manner = Candidate::Manner::kGroup;
    return train_member(gate, candidate, context, attempt);
  }
  Outcome outcome = train_once(gate, candidate, trial, context, attempt);
  if (!ran_out_of_memory(outcome)) return outcome;
  log::info("trial " + std::to_string(trial.trial.number) +
            " ran out of memory on its device: it trains again alone");
  trial::TrialTiming& timing = context.timing();
  timing.train_s = timing.validate_s = timing.latency_s = 0;
  candidate.manner = Candidate::Manner::kAlone;
  outcome = train_once(gate, candidate, trial, context, attempt);
  return ran_out_of_memory(outcome) ? too_large(trial, candidate) : outcome;
}

}  // namespace skyline::train
