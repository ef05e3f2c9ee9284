#pragma once

#include "skyline/store/dataset.hpp"
#include "skyline/train/training_evaluator.hpp"

#include "train/batch_source.hpp"

#include <cstdint>
#include <memory>
#include <vector>

namespace skyline::train {

/// What all trials of an evaluator share; constant.
struct TrainingSetup {
  TrainingOptions options;
  std::shared_ptr<const store::Dataset> dataset;
  store::SplitIndices split;
  PixelScaling scaling;
  bool measure_latency = false;
  std::vector<std::int64_t> test_indices;  // all of the test set
  DeviceUse device;
};

}  // namespace skyline::train
