#include "train/device/host_accelerator.hpp"

#include "skyline/core/error.hpp"

#include "train/device/memory_pool.hpp"
#include "train/kernels/batch_norm_plan.hpp"
#include "train/kernels/chunks.hpp"
#include "train/kernels/cross_entropy.hpp"
#include "train/kernels/dropout.hpp"
#include "train/kernels/gather.hpp"
#include "train/kernels/step_end.hpp"

#include <deque>
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

  void gather(const kernels::GatherPlan& plan) override;
  void dropout(const kernels::DropoutPlan& plan) override {
    kernels::DropoutMask mask = plan.mask;
    mask.seed = static_cast<std::uint64_t>(*plan.seed);
    kernels::dropout(mask, plan.count, plan.source, plan.target);
  }

  void batch_norm_forward(const kernels::BatchNormPlan& plan) override { kernels::batch_norm_forward(plan); }
  void batch_norm_backward(const kernels::BatchNormPlan& plan) override {
    kernels::batch_norm_backward(plan);
  }
  void cross_entropy(const kernels::CrossEntropyPlan& plan) override {
    const double sum = kernels::cross_entropy(
        plan.logits, plan.targets, plan.rule, static_cast<std::size_t>(plan.samples),
        static_cast<std::size_t>(plan.classes), plan.gradient, static_cast<std::size_t>(plan.batch));
    *plan.share = static_cast<float>(sum / static_cast<double>(plan.batch));
  }
  void end_step(const kernels::StepEnd& end) override { kernels::end_step(end); }

  std::unique_ptr<DeviceReducer> make_reducer(trial::TrialGroup& group, int /*device*/) override {
    return make_host_reducer(group);
  }

 private:
  static std::size_t pages_bytes(int name) {
    return static_cast<std::size_t>(sysconf(name)) * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  }

  Kernels kernels_;
  std::vector<AcceleratorDevice> devices_;
};

/// Writes an image that is only moved, mirrored and cut: a pixel has the same place in all channels.
void write_moved(const kernels::GatherPlan& plan, const kernels::GatheredImage& image, float* target) {
  const std::int32_t plane = plan.augment.height * plan.augment.width;
  for (std::int32_t y = 0; y < plan.augment.height; ++y) {
    for (std::int32_t x = 0; x < plan.augment.width; ++x) {
      const std::int32_t source = source_pixel(plan.augment, image.draw, y, x);
      for (std::int32_t c = 0; c < plan.channels; ++c) {
        *target++ = plan.scaling[c * 256 + (source < 0 ? 0 : image.stored[c * plane + source])];
      }
    }
  }
}

void write_row(const kernels::GatherPlan& plan, std::int64_t row, const space::Shape& shape,
               std::span<const float> tables) {
  kernels::GatheredRow found = kernels::find_row(plan, row);
  kernels::write_targets(plan, found, row);
  float* image = plan.images + row * shape.elements();
  if (plan.seed == nullptr) {
    if (plan.numbers == nullptr) scale_image(found.image.stored, shape, tables, image);
    if (plan.numbers != nullptr) scale_image(found.image.numbers, shape, tables, image);
    return;
  }
  if (plan.numbers == nullptr && found.mix.other < 0 && plan.augment.only_moves()) {
    write_moved(plan, found.image, image);
    return;
  }
  kernels::Curves own;
  kernels::Curves others;
  find_curves(plan, found.image, own);
  find_curves(plan, found.other, others);
  for (std::int32_t y = 0; y < plan.augment.height; ++y) {
    for (std::int32_t x = 0; x < plan.augment.width; ++x) {
      for (std::int32_t c = 0; c < plan.channels; ++c) *image++ = gathered_value(plan, found, c, y, x);
    }
  }
}

void HostAccelerator::gather(const kernels::GatherPlan& plan) {
  const space::Shape shape{plan.channels, plan.augment.height, plan.augment.width};
  const std::int32_t table = plan.numbers == nullptr ? 256 : 2;
  const std::span<const float> tables{plan.scaling, static_cast<std::size_t>(plan.channels * table)};
  kernels::in_parallel(static_cast<std::size_t>(plan.rows), static_cast<std::size_t>(shape.elements()),
                       [&](std::size_t first, std::size_t last) {
                         for (std::size_t row = first; row < last; ++row) {
                           write_row(plan, static_cast<std::int64_t>(row), shape, tables);
                         }
                       });
}

template <typename T>
std::span<T> values_of(const at::Tensor& values) {
  require(values.is_contiguous(), "values to sum must be plain");
  return {values.mutable_data_ptr<T>(), static_cast<std::size_t>(values.numel())};
}

class HostReducer final : public DeviceReducer {
 public:
  explicit HostReducer(trial::TrialGroup& group) : group_(group) {}

  void all_reduce(at::Tensor& values) override {
    if (values.scalar_type() == at::kDouble) {
      group_.sum(values_of<double>(values));
    } else {
      begin({group_.all_reduce(floats(values)), {}, {}});
    }
  }

  void reduce_scatter(at::Tensor& values, at::Tensor& part) override {
    const at::Tensor own = own_part(values, part);
    begin({group_.reduce_scatter(floats(values)), own, part});
  }

  void all_gather(const at::Tensor& part, at::Tensor& values) override {
    own_part(values, part).copy_(part);
    begin({group_.all_gather(floats(values)), {}, {}});
  }

  void progress() override {
    for (const Begun& begun : begun_) begun.operation->test();
  }

  void join(std::size_t but_last) override {
    while (begun_.size() > but_last) {
      Begun& oldest = begun_.front();
      oldest.operation->wait();
      if (oldest.part.defined()) oldest.part.copy_(oldest.result);
      begun_.pop_front();
    }
  }

 private:
  /// An unfinished operation, and the tensor for its result, if that is another one.
  struct Begun {
    std::unique_ptr<trial::TrialGroup::Operation> operation;
    at::Tensor result;
    at::Tensor part;
  };

  void begin(Begun begun) {
    progress();
    begun_.push_back(std::move(begun));
  }

  static std::span<float> floats(const at::Tensor& values) {
    require(values.scalar_type() == at::kFloat, "values to sum must be floats");
    return values_of<float>(values);
  }

  at::Tensor own_part(const at::Tensor& values, const at::Tensor& part) const {
    const trial::Shard own =
        trial::shard_of(static_cast<std::size_t>(values.numel()), group_.members(), group_.member());
    require(part.numel() * static_cast<std::int64_t>(group_.members()) == values.numel() &&
                part.numel() == static_cast<std::int64_t>(own.end - own.begin),
            "values that the members of a group share out must be equal parts");
    return values.slice(0, static_cast<std::int64_t>(own.begin), static_cast<std::int64_t>(own.end));
  }

  trial::TrialGroup& group_;
  std::deque<Begun> begun_;
};

}  // namespace

void scale_image(const std::uint8_t* image, const space::Shape& shape, std::span<const float> tables,
                 float* input) {
  const auto channels = static_cast<std::size_t>(shape.channels);
  const auto pixels = static_cast<std::size_t>(shape.height * shape.width);
  const std::size_t table_size = tables.size() / channels;
  for (std::size_t c = 0; c < channels; ++c) {
    const float* table = tables.data() + c * table_size;
    for (std::size_t p = 0; p < pixels; ++p) input[p * channels + c] = table[image[c * pixels + p]];
  }
}

void scale_image(const float* image, const space::Shape& shape, std::span<const float> tables, float* input) {
  const auto channels = static_cast<std::int32_t>(shape.channels);
  const std::int64_t plane = shape.height * shape.width;
  for (std::int32_t c = 0; c < channels; ++c) {
    for (std::int64_t p = 0; p < plane; ++p) {
      input[p * channels + c] = kernels::scaled_number(tables.data(), c, image[c * plane + p]);
    }
  }
}

std::unique_ptr<Accelerator> make_host_accelerator(Kernels kernels) {
  return std::make_unique<HostAccelerator>(kernels);
}

std::unique_ptr<DeviceReducer> make_host_reducer(trial::TrialGroup& group) {
  return std::make_unique<HostReducer>(group);
}

}  // namespace skyline::train
