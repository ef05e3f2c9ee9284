#pragma once

#include "skyline/space/network.hpp"
#include "skyline/trial/evaluator.hpp"

#include "space/quantized/int8_network.hpp"
#include "train/batches/training_setup.hpp"
#include "train/learner/device_evaluation.hpp"
#include "train/quantized/int8_forward.hpp"
#include "train/quantized/real_steps.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace skyline::train {

/// Turns a trained network into an int8 one, by the setup's calibration samples, on the CPU.
/// @param tensors  those of the network, in its order
/// @throws UserError as quantize() in quantize.hpp
space::Int8Network quantize(const TrainingSetup& setup, const space::Network& network,
                            const std::vector<trial::NamedTensor>& tensors);

/// Scores samples of a data set by an int8 network, on the CPU. One thread uses it.
class Int8Scoring {
 public:
  /// @param tensors  those of the network, in its order
  /// @param made     int8 network of these tensors
  Int8Scoring(const TrainingSetup& setup, const space::Network& network,
              std::vector<trial::NamedTensor> tensors, space::Int8Network made);
  Int8Scoring(const Int8Scoring&) = delete;
  Int8Scoring& operator=(const Int8Scoring&) = delete;

  /// Returns the outputs for a batch; no loss is measured.
  ScoredBatch score(SampleSet set, std::span<const std::int64_t> indices) const;

 private:
  const TrainingSetup host_;
  const std::vector<trial::NamedTensor> tensors_;
  const space::Int8Network made_;
  const RealSteps real_;
  const Int8Forward forward_;
};

}  // namespace skyline::train
