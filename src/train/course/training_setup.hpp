#pragma once

#include "skyline/store/dataset.hpp"

#include "train/course/batch_source.hpp"
#include "train/course/training_evaluator.hpp"

#include <cstdint>
#include <memory>
#include <vector>

namespace skyline::train {

class DeviceContext;

/// State that all trials of an evaluator share; constant.
struct TrainingSetup {
  TrainingOptions options;
  std::shared_ptr<const store::Dataset> dataset;
  store::SplitIndices split;
  PixelScaling scaling;
  bool measure_latency = false;
  std::vector<std::int64_t> test_indices;  // all of the test set
  DeviceUse device;
  std::shared_ptr<DeviceContext> on_device;  // nullptr: networks train on the CPU
};

}  // namespace skyline::train
