#include "train/sharing/admitted_training.hpp"

#include "core/log.hpp"
#include "train/group/group_agreement.hpp"
#include "train/sharing/memory_forecast.hpp"

#include <array>
#include <cstdio>
#include <mutex>
#include <optional>
#include <string>

#include <ATen/Context.h>

namespace skyline::train {
namespace {

using trial::Failure;
using trial::FailureKind;
using trial::Outcome;

bool ran_out_of_memory(const Outcome& outcome) {
  const auto* failure = std::get_if<Failure>(&outcome);
  return failure != nullptr && failure->kind == FailureKind::kOutOfMemory;
}

bool ended_without_algorithm(const Outcome& outcome) {
  const auto* failure = std::get_if<Failure>(&outcome);
  return failure != nullptr && failure->kind == FailureKind::kException && lacked_algorithm(failure->reason);
}

/// Lets cuDNN add in any order while it lives, and notes that. The setting is the process's, but no other
/// trial trains here meanwhile: one outside of a group has the device to itself, and a process trains one
/// group at a time, though it may have several of its members.
class NondeterministicCudnn {
 public:
  explicit NondeterministicCudnn(trial::TrialTiming& timing) {
    timing.any_order = 1;
    const std::lock_guard lock(mutex);
    if (users++ == 0) at::globalContext().setDeterministicCuDNN(false);
  }
  ~NondeterministicCudnn() {
    const std::lock_guard lock(mutex);
    if (--users == 0) at::globalContext().setDeterministicCuDNN(true);
  }
  NondeterministicCudnn(const NondeterministicCudnn&) = delete;
  NondeterministicCudnn& operator=(const NondeterministicCudnn&) = delete;

 private:
  inline static std::mutex mutex;
  inline static int users = 0;
};

Failure stopped() {
  return {FailureKind::kStopped, "stopped on request while it waited for the device"};
}

Outcome train_once(AdmissionGate& gate, const AdmissionRequest& request, trial::EvaluationContext& context,
                   const TrainingAttempt& attempt) {
  AdmissionGate::Permit permit;
  {
    const trial::TrialWait wait(context);
    permit = gate.enter(request, [&] { return context.control().stop_requested(); });
  }
  if (!permit) return stopped();
  return attempt(context, permit);
}

/// Begins when all members may, so that no time limit runs while one of them waits for a device. Returns
/// false if the slot stops the trial. Collective.
bool begin_together(trial::TrialGroup& group, AdmissionGate::Permit& permit,
                    const trial::TrialControl& control) {
  while (true) {
    std::array<double, 1> waiting = {permit.may_begin_with_group() ? 0.0 : 1.0};
    if (agree(group, waiting, {control.stop_requested(), false}).stop) return false;
    if (waiting[0] == 0) return true;
  }
}

/// Trains a member of a group. If the last try of its trial lacked an algorithm, this one may use any.
Outcome train_member(AdmissionGate& gate, const AdmissionRequest& request, trial::EvaluationContext& context,
                     const TrainingAttempt& attempt) {
  AdmissionGate::Permit permit = gate.enter(request, [] { return false; });
  {
    const trial::TrialWait wait(context);
    if (!begin_together(*context.group(), permit, context.control())) return stopped();
  }
  std::optional<NondeterministicCudnn> any_order;
  if (lacked_algorithm(context.last_failure())) any_order.emplace(context.timing());
  return attempt(context, permit);
}

std::string gibibytes(std::size_t bytes) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f GiB", static_cast<double>(bytes) / 0x1p30);
  return text;
}

/// Returns the failure. Its reason is part of the result, so it must not change from run to run.
Failure too_large(const AdmittedTrial& trial, const AdmissionRequest& request) {
  return {FailureKind::kOutOfMemory,
          "not enough memory for the network with the device to itself: " + gibibytes(request.bytes) +
              " expected for " + std::to_string(trial.trial.architecture().cost.parameters) +
              " parameters and a batch of " + batch_text(trial.options) + ", " + trial.device.name + " has " +
              gibibytes(trial.device.memory_bytes)};
}

/// Trains once more, from the start or the saved state, when the device's other trials have ended.
Outcome train_alone(AdmissionGate& gate, const AdmittedTrial& trial, AdmissionRequest request,
                    trial::EvaluationContext& context, const TrainingAttempt& attempt) {
  trial::TrialTiming& timing = context.timing();
  timing.train_s = timing.validate_s = timing.latency_s = 0;
  request.manner = AdmissionRequest::Manner::kAlone;
  const Outcome outcome = train_once(gate, request, context, attempt);
  return ran_out_of_memory(outcome) ? too_large(trial, request) : outcome;
}

}  // namespace

bool lacked_algorithm(const std::string& reason) {
  return reason.find("unable to find an engine to execute this computation") != std::string::npos;
}

Outcome train_when_admitted(AdmissionGate& gate, const AdmittedTrial& trial,
                            trial::EvaluationContext& context, const TrainingAttempt& attempt) {
  const space::Network& network = trial.trial.architecture().network();
  AdmissionRequest request{predict_device_bytes(network, trial.options, trial.trial.members)};
  if (context.group() != nullptr) {
    request.manner = AdmissionRequest::Manner::kGroup;
    return train_member(gate, request, context, attempt);
  }
  Outcome outcome = train_once(gate, request, context, attempt);
  const std::string name = "trial " + std::to_string(trial.trial.number);
  if (ran_out_of_memory(outcome)) {
    log::info(name + " ran out of memory on its device: it trains again alone");
    outcome = train_alone(gate, trial, request, context, attempt);
  }
  // A broken device makes cuDNN say the same.
  if (!ended_without_algorithm(outcome) || gate.is_broken()) return outcome;
  log::warning(name +
               ": cuDNN has no deterministic algorithm for one of its convolutions; it trains again alone "
               "with another one, and its result may differ from run to run");
  return train_alone(gate, trial, request, context,
                     [&](trial::EvaluationContext& inner, AdmissionGate::Permit& permit) {
                       const NondeterministicCudnn any_order(inner.timing());
                       return attempt(inner, permit);
                     });
}

}  // namespace skyline::train
