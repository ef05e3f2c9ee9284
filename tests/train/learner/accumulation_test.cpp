// Batches that are computed in parts, whose gradients are added up for one step of the optimizer.

#include "support/yaml_config.hpp"
#include "train/fixtures/learner_fixtures.hpp"
#include "train/fixtures/step_fixtures.hpp"
#include "train/fixtures/watched_accelerator.hpp"

#include <numeric>

#include <gtest/gtest.h>

namespace skyline::train {
namespace {

using test::conv_network;
using test::make_learner;
using test::make_setup;
using test::make_trial;
using test::soon;
using test::Trained;
using test::WatchedAccelerator;

constexpr double kRounding = 2e-5;

/// Nothing in it depends on the other samples of a batch. Autograd differentiates the norms.
space::Network without_batch_norm() {
  const space::SearchSpace space = space::SearchSpace::parse(
      testing::config_from_yaml(
          "network: [{conv2d: {channels: 12, kernel: 3}}, relu, {max_pool: {kernel: 2}}, "
          "{dropout: {probability: 0.2}}, {residual: [layer_norm, {conv2d: {channels: 12, "
          "kernel: 3}}, {group_norm: {groups: 3}}]}, flatten, {linear: {features: 24}}, "
          "relu, {dropout: {probability: 0.1}}, {linear: {features: 6}}]"),
      {{2, 8, 8}, 6});
  return space.build({}).network();
}

/// Plain SGD: a step moves the parameters by exactly the gradient, times the rate.
TrainingOptions in_parts(std::int64_t batch, std::int64_t parts, double rate = 0.1) {
  TrainingOptions options;
  options.batch = batch;
  options.accumulate = parts;
  options.optimizer = test::sgd(rate, 0);
  return options;
}

/// Trains the first steps of an epoch of 203 samples.
Trained steps_of(const space::Network& network, const TrainingOptions& options, std::int64_t steps,
                 const std::shared_ptr<Accelerator>& accelerator = nullptr) {
  return test::train_on_device(options, make_trial(network, 3, 5), steps, {}, accelerator);
}

void expect_close(const Trained& trained, const Trained& expected) {
  ASSERT_EQ(trained.losses.size(), expected.losses.size());
  for (std::size_t step = 0; step < expected.losses.size(); ++step) {
    EXPECT_NEAR(trained.losses[step], expected.losses[step], kRounding) << "step " << step;
  }
  ASSERT_EQ(trained.tensors.size(), expected.tensors.size());
  for (std::size_t t = 0; t < expected.tensors.size(); ++t) {
    EXPECT_LT(test::relative_difference(trained.tensors[t].values, expected.tensors[t].values), kRounding)
        << expected.tensors[t].name;
  }
}

/// On the CPU, and as on a device.
void expect_parts_are_the_whole(const TrainingOptions& options, std::int64_t steps) {
  TrainingOptions whole = options;
  whole.accumulate = 1;
  for (const auto& accelerator : {std::shared_ptr<Accelerator>(), std::shared_ptr(make_host_accelerator())}) {
    SCOPED_TRACE(accelerator == nullptr ? "on the CPU" : "as on a device");
    const Trained expected = steps_of(without_batch_norm(), whole, steps, accelerator);
    EXPECT_EQ(expected.losses.size(), static_cast<std::size_t>(steps));
    expect_close(steps_of(without_batch_norm(), options, steps, accelerator), expected);
  }
}

TEST(Accumulation, HasTheGradientsOfTheWholeBatch) {
  expect_parts_are_the_whole(in_parts(64, 4, 1.0), 1);
}

TEST(Accumulation, HasTheGradientsOfTheWholeBatchInUnequalPartsAndOfTheSmallerLastBatch) {
  expect_parts_are_the_whole(in_parts(64, 5), 4);  // the last batch has 11 samples
}

TEST(Accumulation, LeavesOutThePartsForWhichTheLastBatchHasNoSamples) {
  expect_parts_are_the_whole(in_parts(67, 5), 4);  // the last batch has 2 samples
}

TEST(Accumulation, DrawsTheChangesOfImagesForTheWholeBatch) {
  TrainingOptions options = in_parts(64, 4);
  options.augment = {.crop = 2, .flip = true, .cutout = 3, .mixup = 0.4, .cutmix = 1};
  options.loss = test::soft_cross_entropy();
  options.problem.counts = {60, 30, 15, 30, 120, 30};
  expect_parts_are_the_whole(options, 4);
}

TEST(Accumulation, ClipsTheSumOfTheGradients) {
  TrainingOptions options = in_parts(64, 4);
  options.optimizer.clip_norm = 0.05;
  expect_parts_are_the_whole(options, 4);
}

TEST(Accumulation, OfEachMemberAddsUpToTheGradientsOfTheWholeBatch) {
  TrainingOptions options = in_parts(66, 1);  // the last batch has 5 samples: of two of four parts one
  const std::vector<double> losses = steps_of(without_batch_norm(), options, 4).losses;
  options.accumulate = 4;
  for (const auto& accelerator :
       {std::shared_ptr(make_host_accelerator(Kernels::kOwn)), std::shared_ptr(make_host_accelerator())}) {
    const test::GroupEnd group =
        test::train_group(options, 2, test::kSmallBuckets, {},
                          {.steps = 4, .accelerator = accelerator, .network = without_batch_norm()});
    ASSERT_EQ(group.losses.size(), losses.size());
    for (std::size_t step = 0; step < losses.size(); ++step) {
      EXPECT_NEAR(group.losses[step], losses[step], kRounding) << "step " << step;
    }
  }
}

std::vector<trial::NamedTensor> statistics_of(std::vector<trial::NamedTensor> tensors) {
  std::erase_if(tensors, [](const auto& tensor) { return tensor.name.find("running") == std::string::npos; });
  EXPECT_FALSE(tensors.empty());
  return tensors;
}

/// With a learning rate of nearly nothing the statistics alone change.
TEST(Accumulation, NormalizesByPartAndUpdatesTheStatisticsWithEach) {
  constexpr double kNothing = 1e-30;
  const space::Network network = conv_network({2, 8, 8}, 2, 3, 12, 6);
  for (const auto& accelerator : {std::shared_ptr<Accelerator>(), std::shared_ptr(make_host_accelerator())}) {
    const Trained parts = steps_of(network, in_parts(64, 4, kNothing), 2, accelerator);
    const Trained batches = steps_of(network, in_parts(16, 1, kNothing), 8, accelerator);
    EXPECT_TRUE(test::same_values(statistics_of(parts.tensors), statistics_of(batches.tensors)));
    const auto mean_of = [&](std::ptrdiff_t first) {
      return std::accumulate(batches.losses.begin() + first, batches.losses.begin() + first + 4, 0.0) / 4;
    };
    EXPECT_NEAR(parts.losses[0], mean_of(0), kRounding);
    EXPECT_NEAR(parts.losses[1], mean_of(4), kRounding);
  }
}

TEST(Accumulation, IsRecordedWithAllPartsOfAStep) {
  const trial::Trial trial = make_trial(test::every_layer(), 4, 5);
  TrainingOptions options = test::adam();
  options.accumulate = 4;
  const Trained plain = test::train_on_device(options, trial, 52, {});
  RecordingPolicy policy = soon();
  policy.runs_before = 1;
  policy.least_epochs = 4;
  const auto accelerator = std::make_shared<WatchedAccelerator>();
  const Trained recorded = test::train_on_device(options, trial, 52, policy, accelerator);
  EXPECT_EQ(recorded.losses, plain.losses);
  EXPECT_TRUE(test::same_values(recorded.tensors, plain.tensors));
  EXPECT_EQ(accelerator->counts.captures, 3);  // a step, four of them, and a last one of 11 samples
  EXPECT_EQ(accelerator->counts.gathers, 52 * 4);
}

/// A recording that lacks memory ends amid a step, which is then computed from its first part on.
TEST(Accumulation, ForgetsAStepThatEndedBetweenItsParts) {
  const space::Network network = conv_network({1, 8, 8}, 2, 3, 16, 5);
  const test::Samples samples = test::random_samples(network.input, 8, 5, 1);
  const auto part = [&](test::HostStep& step, std::int64_t first, const Accumulation& accumulation) {
    const auto labels = std::span(samples.labels).subspan(static_cast<std::size_t>(first), 4);
    step.step_part(samples.images.narrow(0, first, 4), labels, {static_cast<std::size_t>(first), 4}, 8,
                   accumulation);
  };
  const auto end_of = [&](bool interrupted) {
    test::HostStep step(network, test::sgd(0.1, 0.9), 3);
    if (interrupted) {
      part(step, 4, {0, false});
      part(step, 0, {4, false});
      step.parameters().import_tensors(test::HostStep(network, {}, 3).export_tensors());
    }
    part(step, 0, {0, false});
    part(step, 4, {4, true});
    return step.export_tensors();
  };
  EXPECT_TRUE(test::same_values(end_of(true), end_of(false)));
}

TEST(Accumulation, RecalibratesWithPartsOfABatch) {
  const trial::Trial trial = make_trial(conv_network({2, 8, 8}, 2, 3, 12, 6), 3, 5);
  const auto recalibrated = [&](std::int64_t batch, std::int64_t parts, std::int64_t batches) {
    TrainingOptions recalibrating = in_parts(batch, parts);
    recalibrating.recalibrate = batches;
    const TrainingSetup setup = make_setup(recalibrating, nullptr);
    const auto learner = make_learner(setup, trial);
    std::int64_t passes = 0;
    EXPECT_TRUE(learner->recalibrate([&](std::int64_t) { return ++passes > 0; }));
    EXPECT_EQ(passes, 8);
    return learner->export_tensors();
  };
  EXPECT_TRUE(test::same_values(recalibrated(64, 4, 2), recalibrated(16, 1, 8)));
}

}  // namespace
}  // namespace skyline::train
