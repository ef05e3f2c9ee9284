#include "evaluate/synthetic/rugged_landscape.hpp"

#include "support/graph_builder.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline::evaluate {
namespace {

struct Convolution {
  std::int64_t kernel = 3;
  std::int64_t channels = 8;
};

/// A chain of convolutions on images of 8 channels, with a classifier.
space::Network chain(const std::vector<Convolution>& convolutions) {
  testing::GraphBuilder builder({8, 16, 16});
  std::vector<std::size_t> end;
  for (const auto& [kernel, channels] : convolutions) {
    end = {builder.add(
        "conv2d", end,
        {{"channels", channels}, {"kernel", kernel}, {"padding", (kernel - 1) / 2}, {"bias", false}})};
    end = {builder.add("relu", end)};
  }
  builder.add("linear", {builder.add("global_average_pool", end)}, {{"features", std::int64_t{10}}});
  space::Network network = builder.build();
  for (const space::Layer& layer : network.layers) {
    for (const space::TensorSpec& tensor : layer.tensors) network.cost.parameters += tensor.elements();
    network.cost.flops += layer.cost.flops;
  }
  return network;
}

double quality(const std::vector<Convolution>& convolutions, std::uint64_t seed = 0) {
  return rugged_quality(chain(convolutions), seed);
}

TEST(RuggedLandscape, HasTheSameBitsOnEveryProcessor) {
  EXPECT_EQ(quality({{3, 8}, {5, 16}, {1, 24}}), 0x1.0430361997753p-1);
  EXPECT_EQ(quality({{3, 8}, {5, 16}, {1, 24}}, 7), 0x1.f5d8decc7149p-2);
}

TEST(RuggedLandscape, TellsNetworksOfEqualCostsApart) {
  const space::Network first = chain({{3}, {5}, {3}});
  const space::Network second = chain({{5}, {3}, {3}});
  EXPECT_EQ(first.cost.parameters, second.cost.parameters);
  EXPECT_EQ(first.cost.flops, second.cost.flops);
  EXPECT_GT(std::abs(rugged_quality(first, 0) - rugged_quality(second, 0)), 0.005);
}

TEST(RuggedLandscape, SaturatesWithDepthAndOverfitsWithWidth) {
  const auto deep = [](std::size_t depth) { return quality(std::vector<Convolution>(depth, {3, 8})); };
  EXPECT_GT(deep(3) - deep(2), 0.01);
  EXPECT_LT(deep(13) - deep(12), (deep(3) - deep(2)) / 4);
  const auto wide = [](std::int64_t channels) { return quality(std::vector<Convolution>(4, {3, channels})); };
  EXPECT_LT(wide(4), wide(32));
  EXPECT_LT(wide(2048), wide(128));
}

TEST(RuggedLandscape, HasManyLocalOptimaWhichDependOnTheSeed) {
  constexpr std::array<std::int64_t, 4> kKernels{1, 3, 5, 7};
  constexpr std::size_t kDepth = 4;
  std::set<std::size_t> best;
  for (const std::uint64_t seed : {0U, 1U, 2U}) {
    std::vector<double> qualities;
    for (std::size_t number = 0; number < 256; ++number) {
      std::vector<Convolution> convolutions;
      for (std::size_t i = 0; i < kDepth; ++i) convolutions.push_back({kKernels.at(number >> (2 * i) & 3U)});
      qualities.push_back(quality(convolutions, seed));
    }
    const auto is_optimum = [&](std::size_t number) {
      for (std::size_t i = 0; i < kDepth; ++i) {
        for (std::size_t change = 1; change < 4; ++change) {
          if (qualities[number ^ change << (2 * i)] > qualities[number]) return false;
        }
      }
      return true;
    };
    std::size_t optima = 0;
    for (std::size_t number = 0; number < qualities.size(); ++number)
      if (is_optimum(number)) ++optima;
    EXPECT_GE(optima, 3U) << seed;
    EXPECT_LE(optima, 30U) << seed << ": more would be noise";
    best.insert(static_cast<std::size_t>(std::ranges::max_element(qualities) - qualities.begin()));
  }
  EXPECT_EQ(best.size(), 3U);
}

}  // namespace
}  // namespace skyline::evaluate
