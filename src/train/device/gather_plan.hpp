#pragma once

#include "skyline/core/error.hpp"

#include "train/device/accelerator.hpp"
#include "train/kernels/gather.hpp"

#include <cstdint>

#include <ATen/core/Tensor.h>

namespace skyline::train {

/// What the gather kernel needs to know of a batch, for each accelerator.
inline kernels::GatherPlan gather_plan(const DeviceBatch& batch) {
  require(batch.images->is_contiguous(at::MemoryFormat::ChannelsLast) && batch.values->is_contiguous(),
          "a batch must be channels_last, and the set that it is made from contiguous");
  const auto table = [](const at::Tensor* values) {
    return values == nullptr ? nullptr : values->const_data_ptr<float>();
  };
  kernels::GatherPlan plan;
  const bool pixels = batch.values->scalar_type() == at::kByte;
  if (pixels) plan.pixels = batch.values->const_data_ptr<std::uint8_t>();
  if (!pixels) plan.numbers = batch.values->const_data_ptr<float>();
  const bool classes = batch.labels->scalar_type() == at::kInt;
  if (classes) plan.labels = batch.labels->const_data_ptr<std::int32_t>();
  if (!classes) plan.label_rows = batch.labels->const_data_ptr<float>();
  plan.order = batch.order->const_data_ptr<std::int64_t>();
  plan.position = batch.position->const_data_ptr<std::int64_t>();
  plan.scaling = batch.scaling->const_data_ptr<float>();
  plan.seed = batch.seed == nullptr ? nullptr : batch.seed->const_data_ptr<std::int64_t>();
  plan.augment = batch.augment;
  plan.augment.height = static_cast<std::int32_t>(batch.values->size(2));
  plan.augment.width = static_cast<std::int32_t>(batch.values->size(3));
  plan.mix = {table(batch.mixup), table(batch.cutmix), batch.order->numel()};
  plan.channels = static_cast<std::int32_t>(batch.values->size(1));
  plan.rows = batch.targets->size(0);
  plan.images = batch.images->mutable_data_ptr<float>();
  if (classes) plan.targets = batch.targets->mutable_data_ptr<std::int64_t>();
  if (!classes) {
    plan.outputs = static_cast<std::int32_t>(batch.targets->size(1));
    plan.target_rows = batch.targets->mutable_data_ptr<float>();
  }
  if (batch.shares != nullptr) {
    plan.others = batch.others->mutable_data_ptr<std::int64_t>();
    plan.shares = batch.shares->mutable_data_ptr<float>();
  }
  return plan;
}

}  // namespace skyline::train
