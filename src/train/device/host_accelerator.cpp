#include "skyline/core/error.hpp"

#include "train/course/augmentation.hpp"
#include "train/course/batch_source.hpp"
#include "train/device/accelerator.hpp"
#include "train/graph/memory_pool.hpp"
#include "train/kernels/dropout.hpp"

#include <optional>
#include <span>
#include <utility>

#include <ATen/core/Tensor.h>
#include <unistd.h>

namespace skyline::train {
namespace {

/// A graph on the CPU: a replay does the work again.
class HostGraph final : public AcceleratorGraph {
 public:
  explicit HostGraph(std::function<void()> work) : work_(std::move(work)) {}
  void replay() override { work_(); }

 private:
  std::function<void()> work_;
};

class HostStream final : public AcceleratorStream {
 public:
  void run(const std::function<void()>& work) override { work(); }
  std::unique_ptr<AcceleratorGraph> capture(const std::function<void()>& work) override {
    return std::make_unique<HostGraph>(work);
  }
  void wait() override {}
};

class HostAccelerator final : public Accelerator {
 public:
  explicit HostAccelerator(Kernels kernels) : kernels_(kernels) {
    install_memory_pool();
    AcceleratorDevice device;
    device.name = "CPU";
    device.memory_bytes = pages_bytes(_SC_PHYS_PAGES);
    device.target = "cpu";
    devices_.push_back(std::move(device));
  }

  const std::vector<AcceleratorDevice>& devices() const override { return devices_; }
  Kernels kernels() const override { return kernels_; }

  AcceleratorMemory memory(int /*device*/) const override {
    AcceleratorMemory memory;
    memory.free_bytes = pages_bytes(_SC_AVPHYS_PAGES);
    memory.total_bytes = devices_.front().memory_bytes;
    return memory;
  }

  void release_cached_memory(int /*device*/) override { trim_memory_pool(0); }

  std::unique_ptr<AcceleratorStream> make_stream(int /*device*/) override {
    return std::make_unique<HostStream>();
  }

  void gather(const DeviceBatch& batch) override;
  void dropout(at::Tensor& values, const at::Tensor& seed, double probability) override;

  std::unique_ptr<DeviceReducer> make_reducer(trial::TrialGroup& group, int /*device*/) override {
    return make_staged_reducer(group, true);
  }

 private:
  static std::size_t pages_bytes(int name) {
    return static_cast<std::size_t>(sysconf(name)) * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  }

  Kernels kernels_;
  std::vector<AcceleratorDevice> devices_;
};

void HostAccelerator::gather(const DeviceBatch& batch) {
  const at::Tensor& pixels = *batch.pixels;
  const space::Shape shape{pixels.size(1), pixels.size(2), pixels.size(3)};
  const std::int64_t position = *batch.position->const_data_ptr<std::int64_t>();
  std::optional<Augmentation> augmentation;
  if (batch.augment.any()) {
    const std::int64_t first = *batch.seed->const_data_ptr<std::int64_t>();
    augmentation.emplace(batch.augment, shape,
                         static_cast<std::uint64_t>(first) + static_cast<std::uint64_t>(position));
  }
  const std::int64_t* order = batch.order->const_data_ptr<std::int64_t>() + position;
  const std::span<const float> tables{batch.scaling->const_data_ptr<float>(),
                                      static_cast<std::size_t>(batch.scaling->numel())};
  float* images = batch.images->mutable_data_ptr<float>();
  std::int64_t* targets = batch.targets->mutable_data_ptr<std::int64_t>();
  for (std::int64_t row = 0; row < batch.targets->size(0); ++row) {
    const std::uint8_t* image = pixels.const_data_ptr<std::uint8_t>() + order[row] * shape.elements();
    scale_image(augmentation ? augmentation->change(image) : image, shape, tables,
                images + row * shape.elements());
    targets[row] = batch.labels->const_data_ptr<std::int32_t>()[order[row]];
  }
}

void HostAccelerator::dropout(at::Tensor& values, const at::Tensor& seed, double probability) {
  require(values.is_non_overlapping_and_dense(), "dropout of a tensor with gaps");
  const auto seed_value = static_cast<std::uint64_t>(*seed.const_data_ptr<std::int64_t>());
  float* data = values.mutable_data_ptr<float>();
  kernels::dropout(kernels::dropout_mask(seed_value, probability), static_cast<std::size_t>(values.numel()),
                   data, data);
}

}  // namespace

std::unique_ptr<Accelerator> make_host_accelerator(Kernels kernels) {
  return std::make_unique<HostAccelerator>(kernels);
}

}  // namespace skyline::train
