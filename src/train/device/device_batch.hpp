#pragma once

#include "skyline/space/network.hpp"

#include "train/course/learner.hpp"
#include "train/course/training_evaluator.hpp"
#include "train/device/device_context.hpp"

#include <cstdint>

#include <ATen/core/Tensor.h>

namespace skyline::train {

/// Images and labels of one batch, always at the same address.
struct BatchBuffers {
  at::Tensor images;   // float32 [rows, channels, height, width], channels_last
  at::Tensor targets;  // int64 [rows]

  static BatchBuffers make(std::int64_t rows, const space::Shape& shape, const c10::Device& device);
  BatchBuffers first(std::int64_t rows) const;
};

/// Fills a batch on the current stream; may be part of recorded work.
/// @param order     int64 [samples]
/// @param position  int64 []: place of the batch in the order
/// @param seed  int64 []: of the augmentation; nullptr: images stay unchanged
void gather_on_device(DeviceContext& context, SampleSet set, const at::Tensor& order,
                      const at::Tensor& position, const BatchBuffers& batch, const at::Tensor* seed = nullptr,
                      const AugmentOptions& augment = {});

}  // namespace skyline::train
