#pragma once

#include "skyline/core/random.hpp"
#include "skyline/store/dataset.hpp"

#include <algorithm>
#include <type_traits>
#include <utility>

namespace skyline::testing {

inline store::Samples sample_images(std::size_t count, const space::Shape& shape, std::uint64_t seed) {
  RandomStream random(seed);
  store::Samples set;
  for (std::size_t i = 0; i < count * static_cast<std::size_t>(shape.elements()); ++i) {
    set.pixels().push_back(static_cast<std::uint8_t>(random.below(256)));
  }
  for (std::size_t i = 0; i < count; ++i) set.classes().push_back(static_cast<std::int32_t>(i % 3));
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

/// 20 samples of 4 features, with 3 validation samples, and the targets of a kind, 3 outputs.
inline store::DatasetContents sample_table(store::TargetKind kind) {
  RandomStream random(3);
  store::DatasetContents contents;
  contents.shape = {4, 1, 1};
  contents.class_names = {"a", "b", "c"};
  contents.value_scale = 1;
  for (auto [part, count] : {std::pair(&contents.train, 20), std::pair(&contents.validation, 3)}) {
    auto& values = part->values.emplace<std::vector<float>>();
    for (int i = 0; i < 4 * count; ++i) values.push_back(static_cast<float>(random.uniform()) - 0.5F);
    if (kind == store::TargetKind::kLabels) part->targets.emplace<1>();
    if (kind == store::TargetKind::kNumbers) part->targets.emplace<2>();
    const int targets = kind == store::TargetKind::kClasses ? count : 3 * count;
    std::visit(
        [&](auto& array) {
          using Target = typename std::decay_t<decltype(array)>::value_type;
          const std::uint64_t end = std::is_same_v<Target, float> ? 1000 : (targets == count ? 3 : 2);
          for (int i = 0; i < targets; ++i) array.push_back(static_cast<Target>(random.below(end)));
        },
        part->targets);
  }
  return contents;
}

/// Everything that a data set tells, for comparison.
inline bool same_dataset(const store::Dataset& dataset, const store::DatasetContents& contents) {
  const std::size_t outputs = contents.class_names.size();
  const auto same_array = [](const auto& mapped, const auto& written) {
    return std::visit(
        [&](const auto& values) {
          const auto* same = std::get_if<std::decay_t<decltype(values)>>(&mapped);
          return same != nullptr && std::ranges::equal(*same, values);
        },
        written);
  };
  const auto same_part = [&](const store::SampleView& mapped, const store::Samples& set) {
    const store::SampleView view = set.view(outputs);
    return mapped.count == view.count && (view.count == 0 || (same_array(mapped.values, view.values) &&
                                                              same_array(mapped.targets, view.targets)));
  };
  return dataset.shape() == contents.shape && dataset.class_names() == contents.class_names &&
         dataset.value_scale() == contents.value_scale && same_part(dataset.train(), contents.train) &&
         same_part(dataset.validation(), contents.validation) && same_part(dataset.test(), contents.test);
}

}  // namespace skyline::testing
