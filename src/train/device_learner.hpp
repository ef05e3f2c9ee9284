#pragma once

#include "skyline/objective/trial.hpp"

#include "train/device_membership.hpp"
#include "train/learner.hpp"
#include "train/recording_policy.hpp"

#include <memory>

namespace skyline::train {

struct TrainingSetup;

/// On a device (TrainingSetup::on_device): steps queue up there, and the host looks at their losses now and
/// then. The same numbers as the host's learner within rounding. `setup`, `trial` and `group`
/// outlive it. Collective over the group. @param group  nullptr: the trial is trained by one
std::unique_ptr<Learner> make_device_learner(const TrainingSetup& setup, const objective::Trial& trial,
                                             objective::TrialGroup* group = nullptr,
                                             const RecordingPolicy& policy = {},
                                             const BucketSizes& buckets = {});

}  // namespace skyline::train
