#pragma once

#include "skyline/space/network.hpp"

#include "train/course/training_evaluator.hpp"
#include "train/kernels/augment.hpp"

#include <cstdint>
#include <vector>

namespace skyline::train {

/// Changes training images at random, as stored: cut parts become pixel 0. The changes of an image depend
/// only on trial seed, epoch and the image's place in the epoch's order. Used by one thread.
class Augmentation {
 public:
  /// @param first_seed  of the first image; later images have the following seeds
  Augmentation(const AugmentOptions& options, const space::Shape& shape, std::uint64_t first_seed);

  /// The seed of the image at place 0 of the epoch's order; those of later places follow.
  static std::uint64_t first_seed(std::uint64_t trial_seed, std::uint64_t epoch);
  /// @param image  [channels, height, width]
  /// @return       the changed copy, until the next call
  const std::uint8_t* change(const std::uint8_t* image);

 private:
  void change_row(const kernels::ImageDraw& draw, std::int64_t row, const std::uint8_t* plane,
                  std::uint8_t* target) const;

  kernels::AugmentPlan plan_;
  space::Shape shape_;
  std::uint64_t next_seed_;
  std::vector<std::uint8_t> changed_;
};

}  // namespace skyline::train
