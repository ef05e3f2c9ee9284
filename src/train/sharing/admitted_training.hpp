#pragma once

#include "skyline/trial/evaluator.hpp"

#include "train/device/accelerator.hpp"
#include "train/options/training_options.hpp"
#include "train/sharing/admission_gate.hpp"

#include <functional>
#include <string>

namespace skyline::train {

/// A trial on a shared device.
struct AdmittedTrial {
  const trial::Trial& trial;
  const TrainingOptions& options;
  const AcceleratorDevice& device;
};

/// Trains the trial from its start, or its saved state. Its memory is freed when this returns.
using TrainingAttempt = std::function<trial::Outcome(trial::EvaluationContext&, AdmissionGate::Permit&)>;

/// Returns whether cuDNN had no algorithm for a convolution, which LibTorch says only in words.
bool lacked_algorithm(const std::string& reason);

/// Waits at the gate, then trains. A trial that runs out of memory trains once more with the device to
/// itself, after its neighbours have ended; only a second failure counts. So does a trial for which cuDNN has
/// no deterministic algorithm, then with any. Members of a group begin together when each has its device to
/// itself; they use any algorithm if the last try of their trial lacked one. Waits and lost attempts are no
/// training time.
trial::Outcome train_when_admitted(AdmissionGate& gate, const AdmittedTrial& trial,
                                   trial::EvaluationContext& context, const TrainingAttempt& attempt);

}  // namespace skyline::train
