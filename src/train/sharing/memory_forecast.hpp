#pragma once

#include "skyline/space/network.hpp"

#include "train/course/training_evaluator.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>

namespace skyline::train {

/// Predicts the bytes that training a network takes on a device from its shapes: weights, gradients and the
/// optimizer's moments, activations kept for the backward pass (or those of scoring a batch, if that is
/// more), a library's work space. A function of its arguments; meant to be some tens of percent too high
/// rather than too low. @param members  of the trial's group; the result is for one of them
std::size_t predict_device_bytes(const space::Network& network, const TrainingOptions& options,
                                 std::uint32_t members = 1);

/// Predicts the bytes that training a network takes in a slot on processors, likewise: fused ops keep less,
/// while freed blocks of one size do not serve another, and the state is copied for checkpoints and weights.
std::uint64_t predict_host_bytes(const space::Network& network, const TrainingOptions& options,
                                 std::uint32_t members = 1);

/// Predicts the time of a step, in units that are comparable between networks on one device. Many kernels of
/// small networks take just the time of their launch.
double predict_step_work(const space::Network& network, const TrainingOptions& options);

/// Corrects predictions by measurements: with the ratio of measured to predicted bytes that nine of ten
/// recent measurements stayed below. Not thread-safe.
class MemoryForecast {
 public:
  /// The prediction, corrected by the measurements so far.
  std::size_t corrected(std::size_t predicted) const;
  /// Reports that candidates with a total prediction of `predicted` bytes took `measured`.
  void measured(std::size_t predicted, std::size_t measured);
  /// Reports that an admitted candidate ran out of memory.
  void was_too_low();
  std::size_t measurements() const { return measurements_; }

 private:
  double correction() const;
  void add(double ratio);

  std::deque<double> ratios_;  // the latest ratios
  std::size_t measurements_ = 0;
};

}  // namespace skyline::train
