#pragma once

#include "skyline/store/dataset.hpp"

#include "train/options/training_options.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace skyline::train {

/// The parts of a data set, each of which is held together.
enum class SampleSet { kTrain, kValidation, kTest };
inline const store::SampleView& part_of(const store::Dataset& dataset, SampleSet set) {
  if (set == SampleSet::kTest) return dataset.test();
  return set == SampleSet::kTrain ? dataset.train() : dataset.validation();
}

/// Converts stored values into the network's input. Immutable; shared by all threads.
class ValueScaling {
 public:
  ValueScaling(const store::Dataset& dataset, Normalization normalization);
  /// [channels, width()]: of pixels, the inputs for the 256 pixels of each channel; of numbers, what is
  /// subtracted, and what the difference is multiplied by.
  std::span<const float> tables() const { return values_; }
  std::int64_t width() const { return width_; }

 private:
  std::int64_t width_;
  std::vector<float> values_;
};

/// The order of an epoch: `indices`, shuffled from the trial's seed and the epoch's number alone.
std::vector<std::int64_t> epoch_order(std::span<const std::int64_t> indices, std::uint64_t trial_seed,
                                      std::uint64_t epoch);

}  // namespace skyline::train
