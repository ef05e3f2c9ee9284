#pragma once

#include "skyline/trial/trial.hpp"

#include "train/course/learner.hpp"
#include "train/device/recording_policy.hpp"
#include "train/group/device_membership.hpp"

#include <memory>

namespace skyline::train {

struct TrainingSetup;

/// On a device (TrainingSetup::on_device): steps queue up there, and the host looks at their losses now and
/// then. The same numbers as the host's learner within rounding. `setup`, `trial` and `group`
/// outlive it. Collective over the group. @param group  nullptr: the trial is trained by one
std::unique_ptr<Learner> make_device_learner(const TrainingSetup& setup, const trial::Trial& trial,
                                             trial::TrialGroup* group = nullptr,
                                             const RecordingPolicy& policy = {},
                                             const BucketSizes& buckets = {});

}  // namespace skyline::train
