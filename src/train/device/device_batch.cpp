#include "train/device/device_batch.hpp"

#include <ATen/ops/empty.h>

namespace skyline::train {

BatchBuffers BatchBuffers::make(std::int64_t rows, const space::Shape& shape, const c10::Device& device) {
  const auto options = at::TensorOptions(at::kFloat).device(device);
  return {at::empty({rows, shape.channels, shape.height, shape.width},
                    options.memory_format(at::MemoryFormat::ChannelsLast)),
          at::empty({rows}, options.dtype(at::kLong))};
}

BatchBuffers BatchBuffers::first(std::int64_t rows) const {
  return {images.narrow(0, 0, rows), targets.narrow(0, 0, rows)};
}

void gather_on_device(DeviceContext& context, SampleSet set, const at::Tensor& order,
                      const at::Tensor& position, const BatchBuffers& batch, const at::Tensor* seed,
                      const AugmentOptions& augment) {
  const DeviceSamples& samples = context.samples(set);
  at::Tensor images = batch.images;
  at::Tensor targets = batch.targets;
  context.accelerator().gather({.pixels = &samples.pixels,
                                .labels = &samples.labels,
                                .order = &order,
                                .position = &position,
                                .scaling = &context.scaling(),
                                .seed = seed,
                                .augment = seed == nullptr ? AugmentOptions() : augment,
                                .images = &images,
                                .targets = &targets});
}

}  // namespace skyline::train
