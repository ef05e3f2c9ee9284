#include "train/batches/device_dataset.hpp"

#include "skyline/core/error.hpp"

#include "core/log.hpp"
#include "train/batches/training_setup.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include <ATen/Context.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>

namespace skyline::train {
namespace {

/// Copies values to the device, or wraps them for reading if that is the CPU.
template <typename T>
at::Tensor copy_to(c10::Device device, std::span<const T> values, at::IntArrayRef sizes,
                   at::ScalarType type) {
  return at::from_blob(const_cast<T*>(values.data()), sizes, type).to(device);
}

DeviceSamples copy_samples(c10::Device device, const store::SampleView& samples,
                           const store::Dataset& dataset) {
  const space::Shape& shape = dataset.shape();
  const auto outputs = static_cast<std::int64_t>(dataset.class_names().size());
  const auto count = static_cast<std::int64_t>(samples.count);
  const std::int64_t sizes[] = {count, shape.channels, shape.height, shape.width};
  DeviceSamples copied;
  copied.values = samples.has_pixels() ? copy_to(device, samples.pixels(), sizes, at::kByte)
                                       : copy_to(device, std::get<1>(samples.values), sizes, at::kFloat);
  switch (samples.target_kind()) {
    case store::TargetKind::kClasses:
      copied.labels = copy_to(device, samples.classes(), {count}, at::kInt);
      break;
    case store::TargetKind::kLabels:
      // The host converts to float, because a device would still be busy with it when this returns.
      copied.labels = copy_to(at::kCPU, std::get<1>(samples.targets), {count, outputs}, at::kByte)
                          .to(at::kFloat)
                          .to(device);
      break;
    case store::TargetKind::kNumbers:
      copied.labels = copy_to(device, std::get<2>(samples.targets), {count, outputs}, at::kFloat);
      break;
  }
  return copied;
}

}  // namespace

DeviceDataset::DeviceDataset(DeviceUse use, std::shared_ptr<const store::Dataset> dataset,
                             const ValueScaling& scaling, std::shared_ptr<const store::Teacher> teacher)
    : use_(std::move(use)),
      dataset_(std::move(dataset)),
      host_scaling_(scaling),
      teacher_(std::move(teacher)),
      device_(use_.accelerator->devices().at(static_cast<std::size_t>(use_.device)).target) {}

void DeviceDataset::set_precision(Precision precision) {
  if (!device_.is_cuda()) return;
  at::Context& settings = at::globalContext();
  settings.setAllowTF32CuDNN(precision == Precision::kTf32);
  settings.setAllowTF32CuBLAS(precision == Precision::kTf32);
  // cuDNN's measuring of algorithms is turned off. It waits for the whole device, which breaks recordings of
  // other slots, and its choice, and with it the bits of results, would depend on other users of the device.
  settings.setBenchmarkCuDNN(false);
  settings.setDeterministicCuDNN(true);
}

const DeviceSamples& DeviceDataset::samples(SampleSet set) {
  HeldSamples& held = held_[static_cast<std::size_t>(set)];
  std::call_once(held.once, [&] {
    held.samples = copy_samples(device_, part_of(*dataset_, set), *dataset_);
    if (teacher_ == nullptr || set != SampleSet::kTrain) return;
    const store::TeacherOutputs& said = teacher_->contents();
    held.samples.taught =
        copy_to(device_, said.values,
                {static_cast<std::int64_t>(said.rows), static_cast<std::int64_t>(said.outputs)}, at::kFloat);
  });
  return held.samples;
}

const at::Tensor& DeviceDataset::scaling() {
  std::call_once(scaling_once_, [&] {
    scaling_ = copy_to(device_, host_scaling_.tables(), {dataset_->shape().channels, host_scaling_.width()},
                       at::kFloat);
  });
  return scaling_;
}

AcceleratorStream& DeviceDataset::stream() {
  const std::lock_guard lock(streams_mutex_);
  std::unique_ptr<AcceleratorStream>& own = streams_[std::this_thread::get_id()];
  if (own == nullptr) own = use_.accelerator->make_stream(use_.device);
  return *own;
}

void DeviceDataset::note_refusal(const std::string& reason) {
  if (!refusal_is_told_.exchange(true)) {
    log::warning("the device did not record a trial's steps, so they are slower: " + reason);
  }
}

BatchBuffers BatchBuffers::make(std::int64_t rows, const TrainingSetup& setup) {
  const space::Shape& shape = setup.dataset->shape();
  const auto options = at::TensorOptions(at::kFloat).device(setup.on_device->device());
  const bool classes = setup.options.problem.targets == store::TargetKind::kClasses;
  return {at::empty({rows, shape.channels, shape.height, shape.width},
                    options.memory_format(at::MemoryFormat::ChannelsLast)),
          classes ? at::empty({rows}, options.dtype(at::kLong))
                  : at::empty({rows, static_cast<std::int64_t>(setup.options.problem.outputs)}, options)};
}

BatchBuffers BatchBuffers::make_for_training(std::int64_t rows, const TrainingSetup& setup) {
  BatchBuffers buffers = make(rows, setup);
  const LossProblem& problem = setup.options.problem;
  const at::TensorOptions options = buffers.images.options().memory_format(at::MemoryFormat::Contiguous);
  if (setup.options.augment.mixes() && problem.targets == store::TargetKind::kClasses) {
    buffers.others = at::empty({rows}, options.dtype(at::kLong));
    buffers.shares = at::empty({rows}, options);
  }
  if (setup.teacher != nullptr)
    buffers.taught = at::empty({rows, static_cast<std::int64_t>(problem.outputs)}, options);
  return buffers;
}

BatchBuffers BatchBuffers::first(std::int64_t rows) const {
  const auto part = [rows](const at::Tensor& values) {
    return values.defined() ? values.narrow(0, 0, rows) : at::Tensor();
  };
  return {part(images), part(targets), part(others), part(shares), part(taught)};
}

void gather_on_device(DeviceDataset& context, SampleSet set, const at::Tensor& order,
                      const at::Tensor& position, const BatchBuffers& batch, const BatchChanges& changes,
                      std::int64_t first) {
  const auto table = [](const at::Tensor& values) {
    return values.defined() ? values.const_data_ptr<float>() : nullptr;
  };
  const DeviceSamples& samples = context.samples(set);
  require(batch.images.is_contiguous(at::MemoryFormat::ChannelsLast) && samples.values.is_contiguous(),
          "a batch must be channels_last, and the set that it is made from contiguous");
  kernels::GatherPlan plan;
  if (samples.values.scalar_type() == at::kByte) {
    plan.pixels = samples.values.const_data_ptr<std::uint8_t>();
  } else {
    plan.numbers = samples.values.const_data_ptr<float>();
  }
  if (samples.labels.scalar_type() == at::kInt) {
    plan.labels = samples.labels.const_data_ptr<std::int32_t>();
    plan.targets = batch.targets.mutable_data_ptr<std::int64_t>();
  } else {
    plan.label_rows = samples.labels.const_data_ptr<float>();
    plan.target_rows = batch.targets.mutable_data_ptr<float>();
    plan.outputs = static_cast<std::int32_t>(batch.targets.size(1));
  }
  plan.order = order.const_data_ptr<std::int64_t>();
  plan.position = position.const_data_ptr<std::int64_t>();
  plan.first = first;
  plan.scaling = context.scaling().const_data_ptr<float>();
  plan.seed = changes.seed.defined() ? changes.seed.const_data_ptr<std::int64_t>() : nullptr;
  plan.augment = changes.augment;
  plan.augment.height = static_cast<std::int32_t>(samples.values.size(2));
  plan.augment.width = static_cast<std::int32_t>(samples.values.size(3));
  plan.mix = {table(changes.mixup), table(changes.cutmix), order.numel()};
  plan.channels = static_cast<std::int32_t>(samples.values.size(1));
  plan.rows = batch.targets.size(0);
  plan.images = batch.images.mutable_data_ptr<float>();
  if (batch.shares.defined()) {
    plan.others = batch.others.mutable_data_ptr<std::int64_t>();
    plan.shares = batch.shares.mutable_data_ptr<float>();
  }
  if (batch.taught.defined()) {
    plan.outputs = static_cast<std::int32_t>(batch.taught.size(1));
    plan.teach = {samples.taught.const_data_ptr<float>(), changes.softening,
                  static_cast<float>(changes.temperature), batch.taught.mutable_data_ptr<float>()};
  }
  context.accelerator().gather(plan);
}

}  // namespace skyline::train
