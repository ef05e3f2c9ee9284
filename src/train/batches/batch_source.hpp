#pragma once

#include "skyline/store/dataset.hpp"

#include "train/kernels/augment.hpp"
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

/// Returns the options as whole numbers, from which kernels draw, for images of this data set.
kernels::AugmentPlan augment_plan(const AugmentOptions& options, const store::Dataset& dataset);

/// Returns the seed of the image at place 0 of an epoch's order; later places follow from it. The changes of
/// an image depend on its seed alone.
std::uint64_t first_image_seed(std::uint64_t trial_seed, std::uint64_t epoch);

/// Returns tables for kernels::MixPlan, of a symmetric beta distribution with this parameter. @pre 0 < alpha
std::vector<float> mixup_table(double alpha);
std::vector<float> cutmix_table(double alpha);

}  // namespace skyline::train
