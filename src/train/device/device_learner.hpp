#pragma once

#include "skyline/trial/trial.hpp"

#include "train/course/learner.hpp"
#include "train/device/repeated_work.hpp"
#include "train/group/device_exchange.hpp"

#include <memory>

namespace skyline::train {

struct TrainingSetup;

/// Makes a learner on a device (TrainingSetup::on_device): steps queue up there, and the host reads their
/// losses now and then. Same numbers as the host's learner within rounding. `setup`, `trial` and `group`
/// outlive it. Collective over the group. @param group  nullptr: no group
std::unique_ptr<Learner> make_device_learner(const TrainingSetup& setup, const trial::Trial& trial,
                                             trial::TrialGroup* group = nullptr,
                                             const RecordingPolicy& policy = {},
                                             const BucketSizes& buckets = {});

}  // namespace skyline::train
