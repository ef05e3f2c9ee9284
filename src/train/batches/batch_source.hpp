#pragma once

#include "skyline/store/dataset.hpp"

#include "train/options/training_options.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace skyline::train {

/// The parts of a data set; each is kept as a whole.
enum class SampleSet { kTrain, kValidation, kTest };
inline const store::SampleView& part_of(const store::Dataset& dataset, SampleSet set) {
  if (set == SampleSet::kTest) return dataset.test();
  return set == SampleSet::kTrain ? dataset.train() : dataset.validation();
}

/// Converts stored values into the network's input. Immutable; shared by all threads.
class ValueScaling {
 public:
  ValueScaling(const store::Dataset& dataset, Normalization normalization);
  /// [channels, width()]. For pixels: the inputs for the 256 pixel values of each channel. For numbers: what
  /// is subtracted, and the factor for the difference.
  std::span<const float> tables() const { return values_; }
  std::int64_t width() const { return width_; }

 private:
  std::int64_t width_;
  std::vector<float> values_;
};

/// Returns the order of an epoch: `indices`, shuffled by the trial's seed and the epoch's number alone.
std::vector<std::int64_t> epoch_order(std::span<const std::int64_t> indices, std::uint64_t trial_seed,
                                      std::uint64_t epoch);

}  // namespace skyline::train
