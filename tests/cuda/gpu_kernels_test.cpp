// The kernels give the bits of the CPU: make_host_accelerator() is the oracle.
#include "cuda/gpu_fixture.hpp"
#include "train/device/host_accelerator.hpp"
#include "train/kernels/dropout.hpp"
#include "train/kernels/gather.hpp"
#include "train/options/training_options.hpp"

#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>

namespace skyline::train {
namespace {

using GpuKernels = test::OnTheGpu;

/// All that a batch is made from, and the batch.
struct BatchTensors {
  at::Tensor pixels;
  at::Tensor labels;
  at::Tensor order;
  at::Tensor position;
  at::Tensor scaling;
  at::Tensor seed;
  at::Tensor images;
  at::Tensor targets;
  at::Tensor mixup;  // as cutmix: undefined unless images are mixed
  at::Tensor cutmix;
  at::Tensor others;
  at::Tensor shares;

  BatchTensors(std::int64_t channels, std::int64_t height, std::int64_t width, std::int64_t rows)
      : pixels(at::randint(0, 256, {100, channels, height, width}, at::kByte)),
        labels(at::randint(0, 10, {100}, at::kInt)),
        order(at::randint(0, 100, {250}, at::kLong)),
        position(at::full({}, 17, at::kLong)),
        scaling(at::randn({channels, 256})),
        seed(at::full({}, 0x7ffffffffffffff0, at::kLong)),
        images(at::empty({rows, channels, height, width},
                         at::TensorOptions(at::kFloat).memory_format(at::MemoryFormat::ChannelsLast))),
        targets(at::empty({rows}, at::kLong)) {}

  /// Mixes images by either kind, drawn with equal chance.
  BatchTensors& mixed() {
    mixup = at::rand({kernels::kQuantiles});
    cutmix = at::rand({kernels::kQuantiles});
    others = at::empty({targets.size(0)}, at::kLong);
    shares = at::empty({targets.size(0)});
    return *this;
  }

  kernels::GatherPlan with(const AugmentOptions& augment) {
    const bool mixes = mixup.defined();
    return {.pixels = pixels.const_data_ptr<std::uint8_t>(),
            .labels = labels.const_data_ptr<std::int32_t>(),
            .order = order.const_data_ptr<std::int64_t>(),
            .position = position.const_data_ptr<std::int64_t>(),
            .scaling = scaling.const_data_ptr<float>(),
            .seed = augment.any() || mixes ? seed.const_data_ptr<std::int64_t>() : nullptr,
            .augment = {.crop = static_cast<std::int32_t>(augment.crop),
                        .cutout = static_cast<std::int32_t>(augment.cutout),
                        .flip = augment.flip,
                        .height = static_cast<std::int32_t>(pixels.size(2)),
                        .width = static_cast<std::int32_t>(pixels.size(3))},
            .mix = {.mixup = mixes ? mixup.const_data_ptr<float>() : nullptr,
                    .cutmix = mixes ? cutmix.const_data_ptr<float>() : nullptr,
                    .samples = order.size(0)},
            .channels = static_cast<std::int32_t>(pixels.size(1)),
            .rows = targets.size(0),
            .images = images.mutable_data_ptr<float>(),
            .targets = targets.mutable_data_ptr<std::int64_t>(),
            .others = mixes ? others.mutable_data_ptr<std::int64_t>() : nullptr,
            .shares = mixes ? shares.mutable_data_ptr<float>() : nullptr};
  }
};

class GpuGather : public test::OnTheGpu {
 protected:
  BatchTensors on_gpu(BatchTensors batch) {
    for (at::Tensor* tensor :
         {&batch.pixels, &batch.labels, &batch.order, &batch.position, &batch.scaling, &batch.seed,
          &batch.images, &batch.targets, &batch.mixup, &batch.cutmix, &batch.others, &batch.shares}) {
      if (tensor->defined()) *tensor = on_device(*tensor);
    }
    return batch;
  }

  void expect_the_cpus_bits(BatchTensors batch, const AugmentOptions& augment) {
    BatchTensors theirs = on_gpu(batch);
    make_host_accelerator()->gather(batch.with(augment));
    stream().run([&] { accelerator().gather(theirs.with(augment)); });
    EXPECT_TRUE(at::equal(on_host(theirs.images), batch.images));
    EXPECT_TRUE(at::equal(on_host(theirs.targets), batch.targets));
    if (!batch.mixup.defined()) return;
    EXPECT_TRUE(at::equal(on_host(theirs.others), batch.others));
    EXPECT_TRUE(at::equal(on_host(theirs.shares), batch.shares));
  }
};

TEST_F(GpuGather, GivesTheCpusBits) {
  for (const AugmentOptions& augment :
       {AugmentOptions{}, AugmentOptions{.crop = 3}, AugmentOptions{.flip = true},
        AugmentOptions{.cutout = 5}, AugmentOptions{.crop = 4, .flip = true, .cutout = 8}}) {
    expect_the_cpus_bits(BatchTensors(1, 8, 8, 16), augment);
    expect_the_cpus_bits(BatchTensors(1, 28, 28, 64), augment);
    expect_the_cpus_bits(BatchTensors(3, 32, 32, 200), augment);
    expect_the_cpus_bits(BatchTensors(2, 5, 7, 1), augment);
  }
}

TEST_F(GpuGather, MixesToTheCpusBits) {
  for (const AugmentOptions& augment : {AugmentOptions{}, AugmentOptions{.crop = 4, .flip = true}}) {
    expect_the_cpus_bits(BatchTensors(1, 28, 28, 64).mixed(), augment);
    expect_the_cpus_bits(BatchTensors(3, 32, 32, 200).mixed(), augment);
  }
}

TEST_F(GpuGather, ReadsPositionAndSeedWhenAGraphIsReplayed) {
  BatchTensors batch(1, 9, 9, 8);
  const AugmentOptions augment{.crop = 2, .flip = true};
  BatchTensors theirs = on_gpu(batch);
  const auto work = [&] {
    theirs.position.add_(8);
    accelerator().gather(theirs.with(augment));
  };
  stream().run(work);
  const auto graph = stream().capture(work);
  for (int i = 0; i < 3; ++i) graph->replay();
  batch.position.add_(32);
  make_host_accelerator()->gather(batch.with(augment));
  EXPECT_TRUE(at::equal(on_host(theirs.images), batch.images));
  EXPECT_TRUE(at::equal(on_host(theirs.targets), batch.targets));
}

TEST_F(GpuKernels, DropWhatTheCpuDrops) {
  for (const std::int64_t count : {1, 2, 7, 1000, 3'000'001}) {
    for (const double probability : {0.0, 0.1, 0.5, 0.99}) {
      at::Tensor expected = at::randn({count});
      at::Tensor values = on_device(expected);
      const at::Tensor seed = at::full({}, -12345, at::kLong);
      const at::Tensor device_seed = on_device(seed);
      const auto drop = [&](Accelerator& where, at::Tensor& dropped, const at::Tensor& seed_there) {
        auto* data = dropped.mutable_data_ptr<float>();
        kernels::DropoutPlan plan{kernels::dropout_mask(0, probability),
                                  seed_there.const_data_ptr<std::int64_t>(),
                                  static_cast<std::size_t>(count),
                                  {data},
                                  {data}};
        plan.mask.first = static_cast<std::uint64_t>(count % 3);
        where.dropout(plan);
      };
      drop(*make_host_accelerator(), expected, seed);
      stream().run([&] { drop(accelerator(), values, device_seed); });
      EXPECT_TRUE(at::equal(on_host(values), expected)) << count << " values, " << probability;
    }
  }
}

}  // namespace
}  // namespace skyline::train
