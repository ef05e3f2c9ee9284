// Networks with branches: what a chain never shows.
#include "skyline/store/dataset.hpp"

#include "train/inherit/transplant.hpp"
#include "train/step_fixtures.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include <ATen/Parallel.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline::train {
namespace {

using space::Network;
using space::Shape;
using test::expect_agreement;
using test::NetworkBuilder;
using test::random_samples;
using test::Samples;
using test::sgd;

/// Adds two convolutions with norms around which the block's input goes. @return  the index of its end
std::size_t add_residual_block(NetworkBuilder& builder, std::size_t input, std::int64_t channels) {
  builder.reading({input}).conv2d(channels, 3, 1, false).batch_norm().relu();
  const std::size_t branch = builder.conv2d(channels, 3, 1, false).batch_norm().last();
  return builder.merge("add", {input, branch}).relu().last();
}

/// A stem, two residual blocks with a pooling between them, and a gate per channel (squeeze and excitation).
Network residual_network(const Shape& input, std::int64_t channels, std::int64_t classes, int blocks = 2) {
  NetworkBuilder builder(input);
  std::size_t end = builder.conv2d(channels, 3).batch_norm().relu().last();
  for (int i = 0; i < blocks; ++i) end = add_residual_block(builder, end, channels);
  const std::size_t gate = builder.reading({end}).global_average_pool().linear(channels).relu().last();
  return builder.merge("multiply", {end, gate}).global_average_pool().linear(classes).build();
}

/// Nodes of a cell of NAS-Bench-201 with the operations none, skip, 1x1, 3x3 and pooling on its six edges.
Network nas_bench_cell(const Shape& input, std::int64_t channels, std::int64_t classes) {
  NetworkBuilder builder(input);
  const auto convolution = [&](std::size_t from, std::int64_t kernel) {
    return builder.reading({from}).relu().conv2d(channels, kernel, 1, false).batch_norm().last();
  };
  const std::size_t first = builder.conv2d(channels, 3, 1, false).batch_norm().last();
  const std::size_t second = convolution(first, 3);
  convolution(second, 1);  // an edge into a node that is left out: a dead branch with a norm
  const std::size_t third = builder.merge("add", {first, convolution(second, 1)}).last();
  const std::size_t sum = builder.merge("add", {first, convolution(second, 3), third}).last();
  const std::size_t joined = builder.merge("concat", {sum, second}).last();
  return builder.reading({joined}).batch_norm().relu().global_average_pool().linear(classes).build();
}

TEST(Branches, AgreeWithAutograd) {
  expect_agreement(residual_network({3, 6, 6}, 8, 4), sgd(0.05, 0.9), 4, 3e-3);
  expect_agreement(nas_bench_cell({3, 6, 6}, 8, 4), sgd(0.05, 0.9), 4, 3e-3);
}

TEST(Branches, OfAGateOfTheSameShapeAgreeWithAutograd) {
  NetworkBuilder builder({2, 5, 5});
  const std::size_t left = builder.conv2d(6, 3).last();
  const std::size_t right = builder.reading({left}).conv2d(6, 1).last();
  const std::size_t pooled = builder.reading({right}).global_average_pool().last();
  builder.merge("multiply", {left, right, pooled}).merge("add", {builder.last(), builder.last()});
  expect_agreement(builder.flatten().linear(3).build(), sgd(0.1, 0.9), 4, 2e-3);
}

TEST(Branches, GiveTheOutputOfTheLastLayerWhereAnEarlierOpTookItOver) {
  NetworkBuilder builder({2, 6, 6});
  const std::size_t stem = builder.conv2d(4, 3).last();
  const std::size_t norm = builder.reading({stem}).batch_norm().last();
  builder.reading({stem}).conv2d(3, 3).batch_norm();  // listed between, and read by nobody
  expect_agreement(builder.reading({norm}).relu().global_average_pool().build(), sgd(0.1, 0.9), 3, 2e-3);
}

TEST(Branches, ThatLeadNowhereHaveNoGradient) {
  NetworkBuilder builder({2, 6, 6});
  const std::size_t stem = builder.conv2d(4, 3).last();
  builder.reading({stem}).conv2d(4, 3, 1, false).batch_norm().relu();
  const Network network = builder.reading({stem}).flatten().linear(3).build();
  const auto step = make_fused_step(network, sgd(0.1, 0.9), 5);
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

/// Draws networks of up to 14 layers in which any layer may read any earlier one that fits.
class RandomNetworks {
 public:
  explicit RandomNetworks(std::uint64_t seed) : random_(seed) {}

  Network draw() {
    const auto side = static_cast<std::int64_t>(4 + random_.below(4));
    NetworkBuilder builder({static_cast<std::int64_t>(1 + random_.below(3)), side, side});
    builder.conv2d(channels(), 3);
    const std::uint64_t layers = 3 + random_.below(9);
    for (std::uint64_t i = 0; i < layers; ++i) add_layer(builder);
    const std::size_t end = builder.reading({pick(builder)}).global_average_pool().last();
    const std::size_t other = builder.reading({pick(builder)}).global_average_pool().last();
    return builder.merge("concat", {end, other}).linear(4).build();
  }

 private:
  std::int64_t channels() { return static_cast<std::int64_t>(2 + random_.below(6)); }
  std::size_t pick(const NetworkBuilder& builder) { return random_.below(builder.last() + 1); }

  /// Another layer whose output a merge with `first` takes, or `first` itself.
  template <typename Fits>
  std::size_t partner(const NetworkBuilder& builder, std::size_t first, const Fits& fits) {
    std::vector<std::size_t> found;
    for (std::size_t layer = 0; layer <= builder.last(); ++layer) {
      if (fits(builder.shape_of(layer), builder.shape_of(first))) found.push_back(layer);
    }
    return found[random_.below(found.size())];
  }

  void add_layer(NetworkBuilder& builder) {
    const std::size_t source = pick(builder);
    const Shape shape = builder.shape_of(source);
    switch (random_.below(8)) {
      case 0:
        builder.reading({source}).conv2d(channels(), random_.below(2) == 0 ? 1 : 3);
        return;
      case 1:
        builder.reading({source}).batch_norm();
        return;
      case 2:
        builder.reading({source}).conv2d(channels(), 3, 1, false).batch_norm().relu();
        return;
      case 3:
        builder.reading({source}).dropout(0.2);
        return;
      case 4:
        if (shape.height > 3) builder.reading({source}).max_pool(2);
        return;
      case 5:
        builder.merge(
            "add", {source, partner(builder, source, [](const Shape& a, const Shape& b) { return a == b; })});
        return;
      case 6:
        builder.merge("concat", {source, partner(builder, source, [](const Shape& a, const Shape& b) {
                                   return a.height == b.height && a.width == b.width;
                                 })});
        return;
      default:
        builder.merge("multiply", {source, partner(builder, source, [](const Shape& a, const Shape& b) {
                                     return a == b || a == Shape{b.channels, 1, 1};
                                   })});
    }
  }

  RandomStream random_;
};

TEST(Branches, OfFiveHundredRandomNetworksAgreeWithAutograd) {
  at::set_num_threads(1);
  RandomNetworks networks(17);
  for (int i = 0; i < 500; ++i) {
    const Network network = networks.draw();
    SCOPED_TRACE("network " + std::to_string(i) + ":\n" + network.canonical_text());
    expect_agreement(network, sgd(0.01, 0.9), 1, 2e-3);
    if (testing::Test::HasFailure()) return;
  }
}

/// Accuracy on the digits' test set after some epochs.
double digits_accuracy(const Network& network, int epochs) {
  const auto digits = store::import_digits(std::string(SKYLINE_SOURCE_DIR) + "/data/digits.csv.gz");
  const auto images_of = [](const store::ImageSet& set, std::size_t first, std::size_t count) {
    constexpr std::size_t kMixes = 677;  // has no factor in common with the number of images
    Samples samples;
    samples.images = at::empty({static_cast<std::int64_t>(count), 1, 8, 8},
                               at::TensorOptions(at::kFloat).memory_format(at::MemoryFormat::ChannelsLast));
    auto* values = samples.images.mutable_data_ptr<float>();
    for (std::size_t i = first; i < first + count; ++i) {
      const std::size_t image = i * kMixes % set.labels.size();
      samples.labels.push_back(set.labels[image]);
      for (std::size_t p = 0; p < 64; ++p) {
        *values++ = (static_cast<float>(set.images[image * 64 + p]) - 5.0F) / 6.0F;
      }
    }
    return samples;
  };
  OptimizerOptions adam;
  adam.learning_rate = 3e-3;
  const auto step = make_fused_step(network, adam, 3);
  const std::size_t count = digits.train.labels.size();
  for (int epoch = 0; epoch < epochs; ++epoch) {
    for (std::size_t first = 0; first + 32 <= count; first += 32) {
      const Samples batch = images_of(digits.train, first, 32);
      step->step(batch.images, batch.labels);
    }
  }
  const Samples unseen = images_of(digits.test, 0, digits.test.labels.size());
  const at::Tensor best = step->infer(unseen.images).argmax(1);
  std::size_t correct = 0;
  for (std::size_t i = 0; i < unseen.labels.size(); ++i) {
    if (best.const_data_ptr<std::int64_t>()[i] == unseen.labels[i]) ++correct;
  }
  return static_cast<double>(correct) / static_cast<double>(unseen.labels.size());
}

TEST(Branches, LearnTheDigits) {
  at::set_num_threads(1);
  EXPECT_GT(digits_accuracy(residual_network({1, 8, 8}, 12, 10), 8), 0.9);
  EXPECT_GT(digits_accuracy(nas_bench_cell({1, 8, 8}, 12, 10), 8), 0.9);
}

TEST(Branches, ThatInheritanceAddsLeaveTheFunctionAsItWas) {
  const Shape shape{2, 6, 6};
  const Network parent = residual_network(shape, 8, 4, 1);
  const Network child = residual_network(shape, 8, 4, 3);
  const auto old = make_fused_step(parent, sgd(0.05, 0.9), 1);
  for (std::uint64_t i = 0; i < 8; ++i) {
    const Samples samples = random_samples(shape, 12, 4, i);
    old->step(samples.images, samples.labels);
  }
  const auto young = make_fused_step(child, sgd(0.05, 0.9), 2);
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
  const auto old = make_fused_step(parent, sgd(0.05, 0.9), 1);
  const auto young = make_fused_step(child, sgd(0.05, 0.9), 2);
  young->parameters().import_tensors(
      inherit_weights(parent, old->export_tensors(), child, young->export_tensors()));
  const Samples unseen = random_samples(parent.input, 16, 3, 99);
  const at::Tensor expected = old->infer(unseen.images);
  EXPECT_LT(young->infer(unseen.images).sub(expected).abs().max().item<double>(),
            2e-5 * expected.abs().max().item<double>());
}

}  // namespace
}  // namespace skyline::train
