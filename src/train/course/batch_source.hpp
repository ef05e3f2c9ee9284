#pragma once

#include "skyline/store/dataset.hpp"

#include "train/course/training_evaluator.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace skyline::train {

/// The parts of a data set, each of which is held together.
enum class SampleSet { kTrain, kValidation, kTest };

/// Converts stored pixels into the network's input. Immutable; shared by all threads.
class PixelScaling {
 public:
  static constexpr std::size_t kPixels = 256;  // values of a pixel

  PixelScaling(const store::Dataset& dataset, Normalization normalization);
  /// 256 values for the 256 pixels of a channel.
  const float* table(std::size_t channel) const { return values_.data() + channel * kPixels; }
  /// The tables of all channels, [channels, 256].
  std::span<const float> tables() const { return values_; }

 private:
  std::vector<float> values_;  // [channels, 256]
};

/// Converts a stored image, [channels, height, width], into the network's input. @param tables  [channels,
/// 256]
/// @param input  out: [height, width, channels]
void scale_image(const std::uint8_t* image, const space::Shape& shape, std::span<const float> tables,
                 float* input);

/// The order of an epoch: `indices`, shuffled from the trial's seed and the epoch's number alone.
std::vector<std::int64_t> epoch_order(std::span<const std::int64_t> indices, std::uint64_t trial_seed,
                                      std::uint64_t epoch);

}  // namespace skyline::train
