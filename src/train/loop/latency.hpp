#pragma once

#include "train/learner/learner.hpp"

#include <functional>
#include <optional>

namespace skyline::train {

/// Times of forward passes in evaluation mode.
struct PassTimes {
  double least_ms = 0;  // the measured latency, because whatever else the machine does can only add to it
  double median_ms = 0;
};

/// Measures passes as `training.latency` says.
/// @return  nullopt if `goes_on`, which is called before each pass, returned false
std::optional<PassTimes> time_passes(Learner& learner, const TrainingSetup& setup,
                                     const std::function<bool()>& goes_on);

}  // namespace skyline::train
