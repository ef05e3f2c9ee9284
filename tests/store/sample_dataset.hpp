#pragma once

#include "skyline/core/random.hpp"
#include "skyline/store/dataset.hpp"

namespace skyline::testing {

inline store::ImageSet sample_images(std::size_t count, const space::Shape& shape, std::uint64_t seed) {
  RandomStream random(seed);
  store::ImageSet set;
  for (std::size_t i = 0; i < count * static_cast<std::size_t>(shape.elements()); ++i) {
    set.images.push_back(static_cast<std::uint8_t>(random.below(256)));
  }
  for (std::size_t i = 0; i < count; ++i) set.labels.push_back(static_cast<std::int32_t>(i % 3));
  return set;
}

/// 30 images of 2 x 3 x 5 for training, 12 for testing, 3 classes.
inline store::DatasetContents sample_contents() {
  store::DatasetContents contents;
  contents.shape = {2, 3, 5};
  contents.class_names = {"cat", "größte", "x"};
  contents.train = sample_images(30, contents.shape, 1);
  contents.test = sample_images(12, contents.shape, 2);
  contents.source = "made for a test";
  return contents;
}

/// Everything that a data set tells, for comparison.
inline bool same_dataset(const store::Dataset& dataset, const store::DatasetContents& contents) {
  const auto same_part = [](const store::MappedImages& mapped, const store::ImageSet& set) {
    return std::equal(mapped.images.begin(), mapped.images.end(), set.images.begin(), set.images.end()) &&
           std::equal(mapped.labels.begin(), mapped.labels.end(), set.labels.begin(), set.labels.end());
  };
  return dataset.shape() == contents.shape && dataset.class_names() == contents.class_names &&
         dataset.value_scale() == contents.value_scale && same_part(dataset.train(), contents.train) &&
         same_part(dataset.test(), contents.test);
}

}  // namespace skyline::testing
