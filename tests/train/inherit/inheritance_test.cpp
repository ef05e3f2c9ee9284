// A child that starts from its parent's weights computes what the parent does, unless it is smaller.
#include "skyline/core/error.hpp"

#include "support/graph_builder.hpp"
#include "train/fixtures/host_step.hpp"
#include "train/fixtures/train_fixtures.hpp"
#include "train/inherit/weight_transfer.hpp"

#include <ATen/ops/empty.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline::train {
namespace {

using space::Network;
using space::Shape;
using test::BarImages;
using test::conv_network;
using test::NetworkBuilder;
using trial::Measurements;
using trial::NamedTensor;

using Tensors = std::vector<NamedTensor>;

constexpr Shape kShape{2, 8, 8};
constexpr std::int64_t kClasses = 6;

struct Samples {
  at::Tensor images;
  std::vector<std::int32_t> labels;
};

Samples samples(std::int64_t count, std::uint64_t seed) {
  RandomStream random(seed);
  Samples drawn;
  drawn.images = at::empty({count, kShape.channels, kShape.height, kShape.width},
                           at::TensorOptions(at::kFloat).memory_format(at::MemoryFormat::ChannelsLast));
  auto* values = drawn.images.mutable_data_ptr<float>();
  for (std::int64_t i = 0; i < count; ++i) drawn.labels.push_back(static_cast<std::int32_t>(i % kClasses));
  std::generate(values, values + drawn.images.numel(), [&] { return static_cast<float>(random.uniform()); });
  return drawn;
}

std::unique_ptr<test::HostStep> fresh(const Network& network, std::uint64_t seed = 1) {
  OptimizerOptions options;
  options.learning_rate = 0.01;
  return test::make_step(network, options, seed);
}

/// After some steps, so that no tensor is as it was drawn.
std::unique_ptr<test::HostStep> trained(const Network& network) {
  auto step = fresh(network);
  for (std::uint64_t i = 0; i < 12; ++i) {
    const Samples batch = samples(16, 100 + i);
    step->step(batch.images, batch.labels);
  }
  return step;
}

std::unique_ptr<test::HostStep> child_of(const Network& parent, const Tensors& weights,
                                         const Network& child) {
  auto step = fresh(child, 2);
  step->parameters().import_tensors(inherit_weights(parent, weights, child, step->export_tensors()));
  return step;
}

/// Largest difference of the outputs, relative to the largest output.
double difference_from_parent(const Network& parent, const Network& child) {
  const auto old = trained(parent);
  const auto young = child_of(parent, old->export_tensors(), child);
  const at::Tensor images = samples(32, 5).images;
  const at::Tensor expected = old->infer(images);
  const at::Tensor got = young->infer(images);
  double scale = 0;
  double difference = 0;
  for (std::int64_t i = 0; i < expected.numel(); ++i) {
    const double value = expected.const_data_ptr<float>()[i];
    scale = std::max(scale, std::abs(value));
    difference = std::max(difference, std::abs(got.const_data_ptr<float>()[i] - value));
  }
  return difference / scale;
}

constexpr double kRounding = 2e-5;

Network blocks(int depth, std::int64_t kernel, std::int64_t width) {
  return conv_network(kShape, depth, kernel, width, kClasses);
}

const NamedTensor& find(const Tensors& tensors, const std::string& name) {
  const auto found = std::ranges::find(tensors, name, &NamedTensor::name);
  EXPECT_NE(found, tensors.end()) << name;
  return *found;
}

TEST(Inheritance, CopiesAnEqualNetworkBitForBit) {
  const Network network = blocks(3, 3, 8);
  const Tensors weights = trained(network)->export_tensors();
  const Tensors child = child_of(network, weights, network)->export_tensors();
  for (std::size_t i = 0; i < weights.size(); ++i) EXPECT_EQ(child[i].values, weights[i].values);
}

TEST(Inheritance, MakesADeeperNetworkComputeWhatTheParentDoes) {
  EXPECT_LT(difference_from_parent(blocks(2, 3, 8), blocks(3, 3, 8)), kRounding);
  EXPECT_LT(difference_from_parent(blocks(1, 3, 8), blocks(6, 3, 8)), kRounding);
  EXPECT_LT(difference_from_parent(blocks(2, 1, 8), blocks(4, 1, 8)), kRounding);
}

TEST(Inheritance, MakesAWiderNetworkComputeWhatTheParentDoes) {
  EXPECT_LT(difference_from_parent(blocks(3, 3, 8), blocks(3, 3, 20)), kRounding);
}

TEST(Inheritance, PutsASmallKernelIntoTheMiddleOfALargeOne) {
  EXPECT_LT(difference_from_parent(blocks(3, 3, 8), blocks(3, 5, 8)), kRounding);
  EXPECT_LT(difference_from_parent(blocks(2, 1, 8), blocks(2, 7, 8)), kRounding);
}

Network two_sided_blocks(const space::Sides& kernel) {
  skyline::testing::GraphBuilder graph(kShape);
  for (int i = 0; i < 2; ++i) {
    const std::vector<std::size_t> input = i == 0 ? std::vector<std::size_t>() : std::vector{graph.last()};
    graph.add("conv2d", input, {{"channels", std::int64_t{8}}, {"kernel", space::as_value(kernel)}});
    graph.add("relu", {graph.last()});
  }
  graph.add("linear", {graph.add("global_average_pool", {graph.last()})}, {{"features", kClasses}});
  return graph.build();
}

TEST(Inheritance, PutsKernelsOfTwoSidesOntoOneAnother) {
  EXPECT_LT(difference_from_parent(two_sided_blocks({3, 1}), two_sided_blocks({5, 3})), kRounding);
  EXPECT_LT(difference_from_parent(two_sided_blocks({1, 3}), two_sided_blocks({1, 7})), kRounding);
  const Network parent = two_sided_blocks({3, 1});
  const Network child = two_sided_blocks({1, 3});
  const Tensors old = trained(parent)->export_tensors();
  const Tensors young = child_of(parent, old, child)->export_tensors();
  const NamedTensor& from = find(old, "conv2d_0.weight");
  const NamedTensor& to = find(young, "conv2d_0.weight");
  ASSERT_EQ(from.values.size(), to.values.size());
  for (std::size_t i = 0; i < to.values.size(); ++i) {
    EXPECT_EQ(to.values[i], i % 3 == 1 ? from.values[i] : 0) << "only the middle of both is in both";
  }
}

TEST(Inheritance, KeepsTheFunctionHoweverTheNetworkGrows) {
  RandomStream random(11);
  for (int i = 0; i < 12; ++i) {
    const int depth = 1 + static_cast<int>(random.below(4));
    const std::int64_t kernel = 1 + 2 * static_cast<std::int64_t>(random.below(3));
    const std::int64_t width = 4 + static_cast<std::int64_t>(random.below(9));
    const Network child = blocks(depth + static_cast<int>(random.below(4)),
                                 kernel + 2 * static_cast<std::int64_t>(random.below(3)),
                                 width + static_cast<std::int64_t>(random.below(9)));
    EXPECT_LT(difference_from_parent(blocks(depth, kernel, width), child), kRounding)
        << depth << ' ' << kernel << ' ' << width << " to " << child.layers.size() << " layers";
  }
}

TEST(Inheritance, KeepsChannelsRowsAndColumnsApartBehindFlatten) {
  const auto network = [](std::int64_t width, std::int64_t hidden) {
    return NetworkBuilder(kShape).conv2d(width, 3).relu().max_pool(2).flatten().linear(hidden).relu().linear(
        kClasses);
  };
  EXPECT_LT(difference_from_parent(network(4, 12).build(), network(6, 12).build()), kRounding);
  EXPECT_LT(difference_from_parent(network(4, 12).build(), network(6, 20).build()), kRounding);
}

TEST(Inheritance, MakesAddedLinearLayersTheIdentity) {
  const Network parent = NetworkBuilder(kShape).flatten().linear(12).relu().linear(kClasses).build();
  const Network child =
      NetworkBuilder(kShape).flatten().linear(12).relu().linear(16).relu().linear(kClasses).build();
  EXPECT_LT(difference_from_parent(parent, child), kRounding);
}

TEST(Inheritance, WidensWhereAnAddedLayerIsWiderThanItsInput) {
  const Network parent = NetworkBuilder(kShape)
                             .conv2d(6, 3)
                             .batch_norm()
                             .relu()
                             .max_pool(2)
                             .global_average_pool()
                             .linear(kClasses)
                             .build();
  const Network child = NetworkBuilder(kShape)
                            .conv2d(6, 3)
                            .batch_norm()
                            .relu()
                            .max_pool(2)
                            .conv2d(12, 3)
                            .batch_norm()
                            .relu()
                            .global_average_pool()
                            .linear(kClasses)
                            .build();
  EXPECT_LT(difference_from_parent(parent, child), kRounding);
}

TEST(Inheritance, StartsABiasThatTheParentLacksAtZero) {
  const auto network = [](bool bias) {
    return NetworkBuilder(kShape).conv2d(6, 3, 1, bias).relu().global_average_pool().linear(kClasses).build();
  };
  EXPECT_LT(difference_from_parent(network(false), network(true)), kRounding);
}

TEST(Inheritance, CopiesWhatFitsIntoASmallerNetwork) {
  const Network parent = blocks(2, 5, 12);
  const Network child = blocks(2, 3, 8);
  const Tensors weights = trained(parent)->export_tensors();
  const Tensors small = child_of(parent, weights, child)->export_tensors();
  const NamedTensor& from = find(weights, "conv2d_3.weight");
  const NamedTensor& to = find(small, "conv2d_3.weight");
  std::size_t i = 0;
  for (std::size_t out = 0; out < 8; ++out) {
    for (std::size_t in = 0; in < 8; ++in) {
      for (std::size_t y = 0; y < 3; ++y) {
        for (std::size_t x = 0; x < 3; ++x, ++i) {
          EXPECT_EQ(to.values[i], from.values[((out * 12 + in) * 5 + y + 1) * 5 + x + 1]);
        }
      }
    }
  }
  const NamedTensor& mean = find(small, "batch_norm_4.running_mean");
  EXPECT_TRUE(
      std::ranges::equal(mean.values, std::span(find(weights, "batch_norm_4.running_mean").values).first(8)));
}

TEST(Inheritance, LeavesNewOutputsAsTheyWereDrawnAndIgnoresThem) {
  const Network parent = blocks(2, 3, 8);
  const Network child = blocks(2, 3, 12);
  const Tensors drawn = fresh(child, 2)->export_tensors();
  const Tensors wide = child_of(parent, trained(parent)->export_tensors(), child)->export_tensors();
  const auto& weight = find(wide, "conv2d_3.weight").values;
  const auto& as_drawn = find(drawn, "conv2d_3.weight").values;
  const std::size_t fan_in = std::size_t{12} * 9;
  EXPECT_TRUE(std::equal(weight.begin() + 8 * fan_in, weight.end(), as_drawn.begin() + 8 * fan_in));
  for (std::size_t out = 0; out < 8; ++out) {
    EXPECT_THAT(std::span(weight).subspan(out * fan_in + 8 * 9, 4 * 9), ::testing::Each(0.0F));
  }
}

TEST(Inheritance, EstimatesTheStatisticsOfAnAddedBatchNorm) {
  // The parent's batch norm is as drawn: its outputs are N(0, 1), what the ReLU leaves has a known mean
  // 1 / sqrt(2 pi) and variance (1 - 1 / pi) / 2.
  const Network parent = blocks(1, 3, 8);
  const Network child = blocks(3, 3, 8);
  const Tensors deep = child_of(parent, fresh(parent)->export_tensors(), child)->export_tensors();
  for (const std::string layer : {"batch_norm_4", "batch_norm_7"}) {
    EXPECT_THAT(find(deep, layer + ".running_mean").values,
                ::testing::Each(::testing::FloatNear(0.398942F, 1e-5F)));
    EXPECT_THAT(find(deep, layer + ".running_var").values,
                ::testing::Each(::testing::FloatNear(0.340845F, 1e-5F)));
    EXPECT_EQ(find(deep, layer + ".bias").values, find(deep, layer + ".running_mean").values);
  }
}

TEST(Inheritance, KeepsTheLossInTrainingModeNearTheParents) {
  const auto old = trained(blocks(2, 3, 16));
  const Samples batch = samples(64, 9);
  const auto young = child_of(blocks(2, 3, 16), old->export_tensors(), blocks(5, 3, 24));
  const double loss = old->step(batch.images, batch.labels);
  EXPECT_NEAR(young->step(batch.images, batch.labels), loss, 0.1 * loss);
}

TEST(Inheritance, RefusesTensorsThatAreNotTheParents) {
  const Network parent = blocks(1, 3, 8);
  const Network child = blocks(2, 3, 8);
  const Tensors good = trained(parent)->export_tensors();
  const auto refusal = [&](const std::function<void(Tensors&)>& spoil) -> std::string {
    Tensors tensors = good;
    spoil(tensors);
    try {
      child_of(parent, tensors, child);
    } catch (const InternalError& error) {
      return error.what();
    }
    return "none";
  };
  EXPECT_EQ(refusal([](Tensors& tensors) { tensors[2].name = "other"; }),
            "the parent's weights have no tensor batch_norm_1.weight");
  EXPECT_EQ(refusal([](Tensors& tensors) {
              tensors[0].dims = {8, 2, 9, 1};
            }),
            "tensor conv2d_0.weight has not the shape that its network gives it");
  EXPECT_EQ(refusal([](Tensors& tensors) { tensors[0].values.pop_back(); }),
            "tensor conv2d_0.weight has not the shape that its network gives it");
  EXPECT_EQ(refusal([](Tensors& tensors) { std::ranges::reverse(tensors); }), "none");
}

// Whole trials.

const std::shared_ptr<const store::Dataset>& bars() {
  static const std::shared_ptr<const store::Dataset> data =
      std::make_shared<BarImages>(kShape, static_cast<int>(kClasses), 300, 60);
  return data;
}

trial::Outcome run(const trial::Trial& trial, test::RecordingContext& context, double learning_rate) {
  TrainingOptions options;
  options.batch = 16;
  options.optimizer.learning_rate = learning_rate;
  return make_training_evaluator(options, Normalization::kStandard, bars(), test::split_in_two(203, 90),
                                 false)
      ->evaluate(trial, context);
}

trial::Trial heir(const Network& parent, const Network& child) {
  trial::Trial trial = test::make_trial(child, 0.01, 2);
  trial.proposal.start = trial::Inherit{.architecture = test::make_trial(parent, 1, 1).proposal.architecture};
  return trial;
}

TEST(Inheritance, MakesATrialStartWhereItsParentEnded) {
  const Network parent = blocks(2, 3, 8);
  test::RecordingContext context;
  context.wants = true;
  const auto before = std::get<Measurements>(run(test::make_trial(parent, 12, 1), context, 0.01)).values;
  EXPECT_GT(before[0], 0.9);  // validation accuracy
  context.parents = std::make_shared<const Tensors>(context.kept);
  // One step, with next to no effect on the weights; the batch moves the running statistics a little.
  const auto after = std::get<Measurements>(run(heir(parent, blocks(3, 3, 12)), context, 1e-12)).values;
  EXPECT_NEAR(after[0], before[0], 0.05);
  const auto alone =
      std::get<Measurements>(run(test::make_trial(blocks(3, 3, 12), 0.01, 2), context, 1e-12)).values;
  EXPECT_LT(alone[0], 0.5);
}

TEST(Inheritance, DoesNotTouchATrialThatGoesOnFromItsOwnState) {
  const Network network = blocks(2, 3, 8);
  test::RecordingContext first;
  first.save_from_epoch = 0;
  const trial::Trial trial = heir(network, network);
  first.parents = std::make_shared<const Tensors>(trained(network)->export_tensors());
  const auto whole = std::get<Measurements>(run(trial, first, 0.01)).values;
  test::RecordingContext second;  // without the parent's weights
  second.start_from = first.last_saved;
  EXPECT_EQ(std::get<Measurements>(run(trial, second, 0.01)).values[1], whole[1]);
}

TEST(Inheritance, IsNeverLeftOutInSilence) {
  const Network network = blocks(2, 3, 8);
  test::RecordingContext context;  // without the parent's weights
  EXPECT_TRUE(std::holds_alternative<trial::Failure>(run(heir(network, network), context, 0.01)));
}

}  // namespace
}  // namespace skyline::train
