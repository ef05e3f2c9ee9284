#pragma once

#include "skyline/core/error.hpp"

#include "train/device/accelerator.hpp"
#include "train/kernels/gather.hpp"

#include <cstdint>

#include <ATen/core/Tensor.h>

namespace skyline::train {

/// What the gather kernel needs to know of a batch, for each accelerator.
inline kernels::GatherPlan gather_plan(const DeviceBatch& batch) {
  require(batch.images->is_contiguous(at::MemoryFormat::ChannelsLast) && batch.pixels->is_contiguous(),
          "a batch must be channels_last, and the set that it is made from contiguous");
  const auto table = [](const at::Tensor* values) {
    return values == nullptr ? nullptr : values->const_data_ptr<float>();
  };
  kernels::GatherPlan plan;
  plan.pixels = batch.pixels->const_data_ptr<std::uint8_t>();
  plan.labels = batch.labels->const_data_ptr<std::int32_t>();
  plan.order = batch.order->const_data_ptr<std::int64_t>();
  plan.position = batch.position->const_data_ptr<std::int64_t>();
  plan.scaling = batch.scaling->const_data_ptr<float>();
  plan.seed = batch.seed == nullptr ? nullptr : batch.seed->const_data_ptr<std::int64_t>();
  plan.augment = batch.augment;
  plan.augment.height = static_cast<std::int32_t>(batch.pixels->size(2));
  plan.augment.width = static_cast<std::int32_t>(batch.pixels->size(3));
  plan.mix = {table(batch.mixup), table(batch.cutmix), batch.order->numel()};
  plan.channels = static_cast<std::int32_t>(batch.pixels->size(1));
  plan.rows = batch.targets->size(0);
  plan.images = batch.images->mutable_data_ptr<float>();
  plan.targets = batch.targets->mutable_data_ptr<std::int64_t>();
  if (batch.shares != nullptr) {
    plan.others = batch.others->mutable_data_ptr<std::int64_t>();
    plan.shares = batch.shares->mutable_data_ptr<float>();
  }
  return plan;
}

}  // namespace skyline::train
