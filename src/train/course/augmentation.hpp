#pragma once

#include "skyline/space/network.hpp"

#include "train/course/training_evaluator.hpp"
#include "train/kernels/augment.hpp"

#include <cstdint>
#include <vector>

namespace skyline::train {

/// Changes training images at random, as stored: what is cut off or away is pixel 0. What becomes of an image
/// depends on trial seed, epoch and the image's place in the epoch's order alone. Used by one thread.
class Augmentation {
 public:
  Augmentation(const AugmentOptions& options, const space::Shape& shape, std::uint64_t trial_seed);

  /// The next images are those from place `first` of the epoch's order on.
  void begin_batch(std::uint64_t epoch, std::size_t first);
  /// The next image has this seed, the one after it the next one: what begin_batch computes.
  void begin_at(std::uint64_t seed) { next_seed_ = seed; }
  /// The seed of the image at place 0 of the epoch's order.
  static std::uint64_t first_seed(std::uint64_t trial_seed, std::uint64_t epoch);
  /// @param image  [channels, height, width]
  /// @return       the changed copy, until the next call
  const std::uint8_t* change(const std::uint8_t* image);

 private:
  void change_row(const kernels::ImageDraw& draw, std::int64_t row, const std::uint8_t* plane,
                  std::uint8_t* target) const;

  kernels::AugmentPlan plan_;
  space::Shape shape_;
  std::uint64_t trial_seed_;
  std::uint64_t next_seed_ = 0;
  std::vector<std::uint8_t> changed_;
};

}  // namespace skyline::train
