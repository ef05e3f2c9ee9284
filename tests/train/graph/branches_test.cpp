// Networks with branches: what a chain never shows.
#include "train/fixtures/branches.hpp"

#include "skyline/space/layer_kind.hpp"
#include "skyline/space/search_space.hpp"
#include "skyline/store/dataset.hpp"

#include "support/map_reader.hpp"
#include "support/yaml_config.hpp"
#include "train/fixtures/operation_count.hpp"
#include "train/fixtures/step_fixtures.hpp"
#include "train/inherit/weight_transfer.hpp"

#include <string>

#include <ATen/Parallel.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline::train {
namespace {

using space::Network;
using space::Shape;
using test::expect_agreement;
using test::nas_bench_cell;
using test::NetworkBuilder;
using test::OperationCount;
using test::random_samples;
using test::RandomNetworks;
using test::residual_network;
using test::Samples;
using test::sgd;

/// Returns the costs as the kinds of the layers count them.
space::Cost counted_by_kinds(Network network) {
  skyline::testing::MapReader reader;
  space::Cost cost;
  for (space::Layer& layer : network.layers) {
    layer.tensors.clear();
    space::find_layer_kind(layer.kind)->infer(layer, reader);
    for (const space::TensorSpec& tensor : layer.tensors) {
      if (tensor.trainable) cost.parameters += tensor.elements();
    }
    cost.flops += layer.cost.flops;
    cost.macs += layer.cost.macs;
  }
  return cost;
}

void expect_the_costs_of_what_is_computed(const Network& network) {
  const space::Cost cost = counted_by_kinds(network);
  ReferenceStep reference(network, sgd(0.01, 0.9), 1);
  const Samples sample = random_samples(network.input, 1, network.classes, 1);
  const OperationCount counted;
  reference.infer(sample.images);
  EXPECT_EQ(cost.macs, counted.macs());
  EXPECT_EQ(cost.flops, counted.flops());
  EXPECT_EQ(cost.parameters, reference.trained_values());
}

TEST(Branches, CostWhatIsComputed) {
  expect_the_costs_of_what_is_computed(residual_network({3, 6, 6}, 8, 4));
  expect_the_costs_of_what_is_computed(nas_bench_cell({3, 6, 6}, 8, 4));
}

TEST(Branches, AgreeWithAutograd) {
  expect_agreement(residual_network({3, 6, 6}, 8, 4), sgd(0.05, 0.9), 4, 3e-4);
  expect_agreement(nas_bench_cell({3, 6, 6}, 8, 4), sgd(0.05, 0.9), 4, 3e-4);
}

TEST(Branches, OfAGateOfTheSameShapeAgreeWithAutograd) {
  NetworkBuilder builder({2, 5, 5});
  const std::size_t left = builder.conv2d(6, 3).last();
  const std::size_t right = builder.reading({left}).conv2d(6, 1).last();
  const std::size_t pooled = builder.reading({right}).global_average_pool().last();
  builder.merge("multiply", {left, right, pooled}).merge("add", {builder.last(), builder.last()});
  expect_agreement(builder.flatten().linear(3).build(), sgd(0.1, 0.9), 4, 2e-4);
}

TEST(Branches, FromTheNetworksInputToLateLayersAgreeWithAutograd) {
  const auto config = skyline::testing::config_from_yaml(R"(
network:
  - residual: [{conv2d: {channels: 2, kernel: 3}}, batch_norm, relu]
  - {concat: , from: [input, previous]}
  - branch: [relu, {conv2d: {channels: 4, kernel: 1}}]
    merge: add
  - {conv2d: {channels: 2, kernel: 1}}
  - {multiply: , from: [input, previous]}
  - global_average_pool
  - linear: {features: $classes}
)",
                                                         "a.yaml", "space");
  const Network network = space::SearchSpace::parse(config, {{2, 6, 6}, 4}).build({}).network();
  expect_agreement(network, sgd(0.05, 0.9), 4, 3e-4);
  expect_the_costs_of_what_is_computed(network);
}

TEST(Branches, GiveTheOutputOfTheLastLayerWhereAnEarlierOpTookItOver) {
  NetworkBuilder builder({2, 6, 6});
  const std::size_t stem = builder.conv2d(4, 3).last();
  const std::size_t norm = builder.reading({stem}).batch_norm().last();
  builder.reading({stem}).conv2d(3, 3).batch_norm();  // listed between, and read by nobody
  expect_agreement(builder.reading({norm}).relu().global_average_pool().build(), sgd(0.1, 0.9), 3, 2e-4);
}

TEST(Branches, ThatLeadNowhereHaveNoGradient) {
  NetworkBuilder builder({2, 6, 6});
  const std::size_t stem = builder.conv2d(4, 3).last();
  builder.reading({stem}).conv2d(4, 3, 1, false).batch_norm().relu();
  const Network network = builder.reading({stem}).flatten().linear(3).build();
  const auto step = test::make_step(network, sgd(0.1, 0.9), 5);
  const auto before = step->export_tensors();
  for (std::uint64_t i = 0; i < 3; ++i) {
    const Samples samples = random_samples(network.input, 6, 3, i);
    step->step(samples.images, samples.labels);
  }
  const auto after = step->export_tensors();
  for (std::size_t t = 0; t < before.size(); ++t) {
    const bool dead = before[t].name == "conv2d_1.weight" || before[t].name == "batch_norm_2.weight" ||
                      before[t].name == "batch_norm_2.bias";
    const bool buffer = before[t].name.starts_with("batch_norm_2.running");
    if (!buffer) {
      EXPECT_EQ(after[t].values == before[t].values, dead) << before[t].name;
    }
  }
}

TEST(Branches, OfFiveHundredRandomNetworksAgreeWithAutogradAndCostWhatIsComputed) {
  at::set_num_threads(1);
  RandomNetworks networks(17);
  for (int i = 0; i < 500; ++i) {
    const Network network = networks.draw();
    SCOPED_TRACE("network " + std::to_string(i) + ":\n" + network.canonical_text());
    expect_agreement(network, sgd(0.01, 0.9), 1, 5e-4);
    expect_the_costs_of_what_is_computed(network);
    if (::testing::Test::HasFailure()) return;
  }
}

/// Accuracy on the digits' test set after some epochs.
double digits_accuracy(const Network& network, int epochs) {
  const auto digits = store::Dataset::open(std::string(SKYLINE_SOURCE_DIR) + "/data/digits.h5", false);
  const auto images_of = [](const store::SampleView& set, std::size_t first, std::size_t count) {
    constexpr std::size_t kMixes = 677;  // has no factor in common with the number of images
    Samples samples;
    samples.images = at::empty({static_cast<std::int64_t>(count), 1, 8, 8},
                               at::TensorOptions(at::kFloat).memory_format(at::MemoryFormat::ChannelsLast));
    auto* values = samples.images.mutable_data_ptr<float>();
    for (std::size_t i = first; i < first + count; ++i) {
      const std::size_t image = i * kMixes % set.classes().size();
      samples.labels.push_back(set.classes()[image]);
      for (std::size_t p = 0; p < 64; ++p) {
        *values++ = (static_cast<float>(set.pixels()[image * 64 + p]) - 5.0F) / 6.0F;
      }
    }
    return samples;
  };
  OptimizerOptions adam;
  adam.learning_rate = 3e-3;
  const auto step = test::make_step(network, adam, 3);
  const std::size_t count = digits->train().classes().size();
  for (int epoch = 0; epoch < epochs; ++epoch) {
    for (std::size_t first = 0; first + 32 <= count; first += 32) {
      const Samples batch = images_of(digits->train(), first, 32);
      step->step(batch.images, batch.labels);
    }
  }
  const Samples unseen = images_of(digits->test(), 0, digits->test().classes().size());
  const at::Tensor best = step->infer(unseen.images).argmax(1);
  std::size_t correct = 0;
  for (std::size_t i = 0; i < unseen.labels.size(); ++i) {
    if (best.const_data_ptr<std::int64_t>()[i] == unseen.labels[i]) ++correct;
  }
  return static_cast<double>(correct) / static_cast<double>(unseen.labels.size());
}

TEST(Branches, LearnTheDigits) {
  at::set_num_threads(1);
  EXPECT_GT(digits_accuracy(residual_network({1, 8, 8}, 12, 10), 16), 0.9);
  EXPECT_GT(digits_accuracy(nas_bench_cell({1, 8, 8}, 12, 10), 16), 0.9);
}

TEST(Branches, ThatInheritanceAddsLeaveTheFunctionAsItWas) {
  const Shape shape{2, 6, 6};
  const Network parent = residual_network(shape, 8, 4, 1);
  const Network child = residual_network(shape, 8, 4, 3);
  const auto old = test::make_step(parent, sgd(0.05, 0.9), 1);
  for (std::uint64_t i = 0; i < 8; ++i) {
    const Samples samples = random_samples(shape, 12, 4, i);
    old->step(samples.images, samples.labels);
  }
  const auto young = test::make_step(child, sgd(0.05, 0.9), 2);
  young->parameters().import_tensors(
      inherit_weights(parent, old->export_tensors(), child, young->export_tensors()));
  const Samples unseen = random_samples(shape, 16, 4, 99);
  const at::Tensor expected = old->infer(unseen.images);
  const at::Tensor difference = young->infer(unseen.images).sub(expected).abs().max();
  EXPECT_LT(difference.item<double>(), 2e-5 * expected.abs().max().item<double>());
  // What starts at zero learns all the same.
  const auto before = young->export_tensors();
  const Samples samples = random_samples(shape, 12, 4, 7);
  young->step(samples.images, samples.labels);
  const auto after = young->export_tensors();
  std::size_t zeros = 0;
  for (std::size_t t = 0; t < before.size(); ++t) {
    const bool starts_at_zero = std::ranges::count(before[t].values, 0.0F) == std::ssize(before[t].values);
    if (before[t].name.ends_with(".weight") && starts_at_zero) {
      ++zeros;
      EXPECT_NE(after[t].values, before[t].values) << before[t].name;
    }
  }
  EXPECT_EQ(zeros, 2U);  // the last norm of each added block
}

TEST(Branches, TakeWhatIsInCommonOfEachJoinedInput) {
  const auto network = [](std::int64_t left, std::int64_t right) {
    NetworkBuilder builder({2, 5, 5});
    const std::size_t stem = builder.conv2d(4, 1).relu().last();
    const std::size_t first = builder.reading({stem}).conv2d(left, 3).relu().last();
    const std::size_t second = builder.reading({stem}).conv2d(right, 1).relu().last();
    return builder.merge("concat", {first, second})
        .conv2d(6, 1)
        .relu()
        .global_average_pool()
        .linear(3)
        .build();
  };
  const Network parent = network(3, 4);
  const Network child = network(5, 6);
  const auto old = test::make_step(parent, sgd(0.05, 0.9), 1);
  const auto young = test::make_step(child, sgd(0.05, 0.9), 2);
  young->parameters().import_tensors(
      inherit_weights(parent, old->export_tensors(), child, young->export_tensors()));
  const Samples unseen = random_samples(parent.input, 16, 3, 99);
  const at::Tensor expected = old->infer(unseen.images);
  EXPECT_LT(young->infer(unseen.images).sub(expected).abs().max().item<double>(),
            2e-5 * expected.abs().max().item<double>());
}

}  // namespace
}  // namespace skyline::train
