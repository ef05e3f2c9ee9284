#pragma once

#include "skyline/objective/trial.hpp"

#include "train/learner.hpp"

#include <cstdint>
#include <memory>

namespace skyline::train {

struct TrainingSetup;

/// When work is recorded: to record costs about ten steps.
struct RecordingPolicy {
  std::int64_t runs_before = 3;           // as they are: handles exist then, and algorithms are chosen
  std::int64_t least_steps = 200;         // of the trial, for steps to be recorded at all
  std::int64_t burst = 4;                 // steps that are one replay
  std::int64_t least_burst_steps = 1000;  // of the trial, for bursts
  double most_burst_flops = 2e9;    // of a step: what a larger one gains is not worth a second recording
  std::int64_t least_batches = 16;  // of the validation samples, for their pass to be recorded
};

/// On a device (TrainingSetup::on_device): steps queue up there, and the host looks at their losses now and
/// then. The same numbers as the host's learner within rounding. `setup`, `trial` and `group`
/// outlive it. Collective over the group. @param group  nullptr: the trial is trained by one
std::unique_ptr<Learner> make_device_learner(const TrainingSetup& setup, const objective::Trial& trial,
                                             objective::TrialGroup* group = nullptr,
                                             const RecordingPolicy& policy = {});

}  // namespace skyline::train
