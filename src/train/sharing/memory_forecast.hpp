#pragma once

#include "skyline/space/network.hpp"

#include "train/course/training_evaluator.hpp"

#include <cstddef>
#include <deque>

namespace skyline::train {

/// Bytes that training a network takes on a device, by its shapes: weights, gradients and the optimizer's
/// moments, what the forward pass leaves for the backward pass (or what scoring a batch takes, if that is
/// more: its batch is larger), a library's work space. A function of its arguments; meant to be some tens of
/// percent too much rather than too little. @param members  of the trial's group, of which this is for one
std::size_t predict_device_bytes(const space::Network& network, const TrainingOptions& options,
                                 std::uint32_t members = 1);

/// How long a step takes, in units that are comparable between networks on one device: many kernels of small
/// networks take the time of their launch, whatever they compute.
double predict_step_work(const space::Network& network, const TrainingOptions& options);

/// Corrects predictions by what candidates were measured to take: with the ratio of measured to predicted
/// bytes that nine of ten recent measurements stayed below. Not thread-safe.
class MemoryForecast {
 public:
  /// Predicted bytes as they stand after the measurements so far.
  std::size_t corrected(std::size_t predicted) const;
  /// Candidates for which `predicted` bytes were predicted in sum took `measured`.
  void measured(std::size_t predicted, std::size_t measured);
  /// A candidate ran out of memory that had been let in as one that fits.
  void was_too_low();
  std::size_t measurements() const { return measurements_; }

 private:
  double correction() const;
  void add(double ratio);

  std::deque<double> ratios_;  // the latest
  std::size_t measurements_ = 0;
};

}  // namespace skyline::train
