// The kernels give the bits of the CPU: make_host_accelerator() is the oracle.
#include "cuda/gpu_fixture.hpp"
#include "train/device/host_accelerator.hpp"
#include "train/kernels/batch_norm_plan.hpp"
#include "train/kernels/cross_entropy.hpp"
#include "train/kernels/dropout.hpp"
#include "train/kernels/gather.hpp"
#include "train/options/training_options.hpp"

#include <utility>
#include <vector>

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
  at::Tensor mixup;  // undefined unless images are mixed, like cutmix
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
                        .width = static_cast<std::int32_t>(pixels.size(3)),
                        .is_grey = pixels.size(1) == 1,
                        .trivial = {.most = augment.trivial > 0 ? kernels::kOneFactor : 0}},
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

TEST_F(GpuGather, ChangesImagesByOneOperationToTheCpusBits) {
  const AugmentOptions augment{.crop = 2, .trivial = 1};
  expect_the_cpus_bits(BatchTensors(1, 28, 28, 200), augment);
  expect_the_cpus_bits(BatchTensors(3, 48, 48, 200), augment);
  expect_the_cpus_bits(BatchTensors(3, 32, 32, 200).mixed(), augment);
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

/// The relative distance of what the GPU gives from what the host gives.
double distance(const at::Tensor& given, const at::Tensor& wanted) {
  return given.sub(wanted).norm().item<double>() / (wanted.norm().item<double>() + 1e-30);
}

/// All that a batch norm reads and writes.
struct NormTensors {
  at::Tensor input;
  at::Tensor gradient;
  at::Tensor weight;
  at::Tensor bias;
  at::Tensor offset;
  at::Tensor running_mean;
  at::Tensor running_variance;
  at::Tensor mean;
  at::Tensor inverse;
  at::Tensor scratch;
  at::Tensor output;
  at::Tensor weight_gradient;
  at::Tensor bias_gradient;

  explicit NormTensors(const std::vector<std::int64_t>& shape)
      : input(at::randn(shape).mul_(0.5).add_(3)),
        gradient(at::randn(shape)),
        weight(at::rand({shape[1]})),
        bias(at::randn({shape[1]})),
        offset(at::randn({shape[1]})),
        running_mean(at::randn({shape[1]})),
        running_variance(at::rand({shape[1]})),
        mean(at::full({shape[1]}, 7.0F)),
        inverse(at::full({shape[1]}, 7.0F)),
        scratch(at::full({64 * shape[1]}, 7.0F)),
        output(at::full(shape, 7.0F)),
        weight_gradient(at::full({shape[1]}, 7.0F)),
        bias_gradient(at::full({shape[1]}, 7.0F)) {}

  std::vector<at::Tensor*> all() {
    return {&input, &gradient, &weight,  &bias,   &offset,          &running_mean, &running_variance,
            &mean,  &inverse,  &scratch, &output, &weight_gradient, &bias_gradient};
  }
  kernels::BatchNormPlan plan(bool relu) {
    return {.samples = input.size(0),
            .channels = input.size(1),
            .pixels = input.size(2) * input.size(3),
            .relu = relu,
            .momentum = 0.1F,
            .epsilon = 1e-5F,
            .input = input.const_data_ptr<float>(),
            .weight = weight.const_data_ptr<float>(),
            .bias = bias.const_data_ptr<float>(),
            .offset = offset.const_data_ptr<float>(),
            .running_mean = running_mean.mutable_data_ptr<float>(),
            .running_variance = running_variance.mutable_data_ptr<float>(),
            .mean = mean.mutable_data_ptr<float>(),
            .inverse_deviation = inverse.mutable_data_ptr<float>(),
            .partial_sums = scratch.mutable_data_ptr<float>(),
            .output = output.mutable_data_ptr<float>(),
            .gradient = gradient.const_data_ptr<float>(),
            .input_gradient = gradient.mutable_data_ptr<float>(),
            .weight_gradient = weight_gradient.mutable_data_ptr<float>(),
            .bias_gradient = bias_gradient.mutable_data_ptr<float>()};
  }
};

TEST_F(GpuKernels, NormalizeBatchesAsTheHostDoes) {
  const std::vector<std::vector<std::int64_t>> shapes{{8, 3, 1, 1},     {32, 16, 8, 8},    {64, 7, 28, 28},
                                                      {100, 5, 9, 11},  {3, 2, 97, 101},   {500, 3, 40, 40},
                                                      {600, 2, 11, 11}, {33, 2, 180, 180}, {2, 70000, 1, 2}};
  for (const std::vector<std::int64_t>& shape : shapes) {
    for (const bool relu : {false, true}) {
      NormTensors ours(shape);
      NormTensors theirs = ours;
      for (at::Tensor* tensor : theirs.all()) *tensor = on_device(*tensor);
      const auto normalize = [relu](Accelerator& where, NormTensors& tensors) {
        where.batch_norm_forward(tensors.plan(relu));
        where.batch_norm_backward(tensors.plan(relu));
      };
      normalize(*make_host_accelerator(), ours);
      stream().run([&] { normalize(accelerator(), theirs); });
      EXPECT_LT(distance(on_host(theirs.output), ours.output), 1e-5) << shape << relu;
      // Near zero a rounding decides what passes the ReLU: one such element of many.
      EXPECT_LT(distance(on_host(theirs.gradient), ours.gradient), relu ? 3e-3 : 1e-4) << shape << relu;
      EXPECT_LT(distance(on_host(theirs.weight_gradient), ours.weight_gradient), relu ? 3e-3 : 1e-4)
          << shape << relu;
      EXPECT_LT(distance(on_host(theirs.bias_gradient), ours.bias_gradient), relu ? 3e-3 : 1e-4)
          << shape << relu;
      EXPECT_LT(distance(on_host(theirs.running_mean), ours.running_mean), 1e-6) << shape << relu;
      EXPECT_LT(distance(on_host(theirs.running_variance), ours.running_variance), 1e-5) << shape << relu;
    }
  }
}

/// Logits and targets, and the loss and gradient that come of them.
struct ScoreTensors {
  at::Tensor logits;
  at::Tensor labels;
  at::Tensor others;
  at::Tensor shares;
  at::Tensor weights;
  at::Tensor loss;
  at::Tensor gradient;

  ScoreTensors(std::int64_t samples, std::int64_t classes)
      : logits(at::randn({samples, classes}).mul_(5)),
        labels(at::randint(0, classes, {samples}, at::kLong)),
        others(at::randint(0, classes, {samples}, at::kLong)),
        shares(at::rand({samples})),
        weights(at::rand({classes})),
        loss(at::full({}, 7.0F)),
        gradient(at::full({samples, classes}, 7.0F)) {}

  std::vector<at::Tensor*> all() { return {&logits, &labels, &others, &shares, &weights, &loss, &gradient}; }
  kernels::CrossEntropyPlan plan(bool mixed) {
    kernels::CrossEntropyPlan plan{.logits = logits.const_data_ptr<float>(),
                                   .targets = {labels.const_data_ptr<std::int64_t>()},
                                   .samples = logits.size(0),
                                   .classes = logits.size(1),
                                   .batch = 320,
                                   .share = loss.mutable_data_ptr<float>(),
                                   .gradient = gradient.mutable_data_ptr<float>()};
    if (mixed) {
      plan.targets.others = others.const_data_ptr<std::int64_t>();
      plan.targets.shares = shares.const_data_ptr<float>();
      plan.rule = {0.1, weights.const_data_ptr<float>()};
    }
    return plan;
  }
};

TEST_F(GpuKernels, ScoreClassesAsTheHostDoes) {
  for (const std::int64_t classes : {2, 10, 1000}) {
    for (const std::int64_t samples : {0, 1, 31, 300}) {
      for (const bool mixed : {false, true}) {
        ScoreTensors ours(samples, classes);
        ScoreTensors theirs = ours;
        for (at::Tensor* tensor : theirs.all()) *tensor = on_device(*tensor);
        make_host_accelerator()->cross_entropy(ours.plan(mixed));
        stream().run([&] { accelerator().cross_entropy(theirs.plan(mixed)); });
        EXPECT_LT(distance(on_host(theirs.loss), ours.loss), 1e-5) << samples << " of " << classes;
        EXPECT_LT(distance(on_host(theirs.gradient), ours.gradient), 1e-5) << samples << " of " << classes;
      }
    }
  }
}

}  // namespace
}  // namespace skyline::train
