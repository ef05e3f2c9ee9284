#include "space/network/network_alignment.hpp"

#include "space/space_from_yaml.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline::space {
namespace {

using ::testing::ElementsAre;

constexpr auto kAdded = std::nullopt;

Network blocks(int depth, int kernel, int width) {
  std::string list;
  for (int i = 0; i < depth; ++i) {
    list += "  - conv2d: {channels: " + std::to_string(width) + ", kernel: " + std::to_string(kernel) +
            "}\n  - batch_norm\n  - relu\n";
  }
  return network_from_yaml(list + "  - global_average_pool\n  - linear: {features: 10}");
}

/// Adds a layer of a kind without tensors that reads these layers.
void add_reader(Network& network, const std::string& kind, std::vector<std::size_t> inputs) {
  Layer layer;
  layer.kind = kind;
  for (const std::size_t input : inputs) layer.input_shapes.push_back(network.layers[input].output);
  layer.output = layer.input();
  layer.inputs = std::move(inputs);
  network.layers.push_back(std::move(layer));
}

/// Adds conv2d + batch_norm + relu, which read the layer `input`.
std::size_t add_block(Network& network, std::size_t input, std::int64_t channels, int kernel) {
  Network chain = network_from_yaml("[{conv2d: {channels: " + std::to_string(channels) +
                                        ", kernel: " + std::to_string(kernel) + "}}, batch_norm, relu]",
                                    {network.layers[input].output, 0});
  for (Layer& layer : chain.layers) {
    layer.inputs = {layer.inputs.empty() ? input : network.layers.size() - 1};
    network.layers.push_back(std::move(layer));
  }
  return network.layers.size() - 1;
}

/// A stem of one block, then blocks with a skip connection around each (add, relu), then the head.
Network residual_blocks(const std::vector<int>& blocks_in_each) {
  Network network =
      network_from_yaml("[{conv2d: {channels: 8, kernel: 3}}, batch_norm, relu]", {{1, 28, 28}, 0});
  for (const int count : blocks_in_each) {
    const std::size_t start = network.layers.size() - 1;
    std::size_t end = start;
    for (int i = 0; i < count; ++i) end = add_block(network, end, 8, 3);
    add_reader(network, "add", {start, end});
  }
  add_reader(network, "global_average_pool", {network.layers.size() - 1});
  return network;
}

void expect_valid(const Network& parent, const Network& child, const NetworkAlignment& alignment) {
  ASSERT_EQ(alignment.size(), child.layers.size());
  std::size_t next = 0;
  for (std::size_t c = 0; c < alignment.size(); ++c) {
    if (!alignment[c]) continue;
    EXPECT_GE(*alignment[c], next) << "layer " << c;
    ASSERT_LT(*alignment[c], parent.layers.size());
    EXPECT_EQ(parent.layers[*alignment[c]].kind, child.layers[c].kind);
    next = *alignment[c] + 1;
  }
}

/// The worth of an alignment: parameters shared, then layers kept, unchanged, connected. Slow and plain.
std::pair<std::int64_t, std::int64_t> worth(const Network& parent, const Network& child,
                                            const NetworkAlignment& alignment) {
  std::int64_t likeness = 0;
  std::int64_t all = 0;
  for (std::size_t c = 0; c < alignment.size(); ++c) {
    const Layer& mine = child.layers[c];
    all += mine.cost.parameters;
    if (!alignment[c]) continue;
    const Layer& theirs = parent.layers[*alignment[c]];
    likeness += theirs.input_shapes == mine.input_shapes && theirs.attributes == mine.attributes ? 2 : 1;
    if (mine.inputs.empty() && theirs.inputs.empty()) ++likeness;
    for (std::size_t k = 0; k < std::min(mine.inputs.size(), theirs.inputs.size()); ++k) {
      if (alignment[mine.inputs[k]] == theirs.inputs[k]) ++likeness;
    }
  }
  const double shared = inherited_share(parent, child, alignment) * static_cast<double>(all);
  return {std::llround(shared), likeness};
}

/// The best worth of all alignments whatever.
std::pair<std::int64_t, std::int64_t> best_worth(const Network& parent, const Network& child,
                                                 NetworkAlignment& alignment, std::size_t c = 0,
                                                 std::size_t first = 0) {
  if (c == child.layers.size()) return worth(parent, child, alignment);
  alignment[c] = kAdded;
  auto best = best_worth(parent, child, alignment, c + 1, first);
  for (std::size_t p = first; p < parent.layers.size(); ++p) {
    const bool ends_alike = (p + 1 == parent.layers.size()) == (c + 1 == child.layers.size());
    if (!ends_alike || parent.layers[p].kind != child.layers[c].kind) continue;
    alignment[c] = p;
    best = std::max(best, best_worth(parent, child, alignment, c + 1, p + 1));
  }
  alignment[c] = kAdded;
  return best;
}

TEST(NetworkAlignment, OfANetworkWithItselfIsTheIdentity) {
  const Network network = blocks(4, 3, 16);
  const NetworkAlignment alignment = align(network, network);
  for (std::size_t i = 0; i < network.layers.size(); ++i) EXPECT_EQ(alignment[i], i);
  EXPECT_EQ(inherited_share(network, network, alignment), 1.0);
}

TEST(NetworkAlignment, KeepsBlocksTogetherWhenFiveBecomeSeven) {
  const Network parent = blocks(5, 3, 16);
  const Network child = blocks(7, 3, 16);
  const NetworkAlignment alignment = align(parent, child);
  for (std::size_t i = 0; i < 15; ++i) EXPECT_EQ(alignment[i], i);
  for (std::size_t i = 15; i < 21; ++i) EXPECT_EQ(alignment[i], kAdded);
  EXPECT_EQ(alignment[21], 15U);
  EXPECT_EQ(alignment[22], 16U);
}

TEST(NetworkAlignment, DropsWholeBlocksWhenSevenBecomeFive) {
  const Network parent = blocks(7, 3, 16);
  const Network child = blocks(5, 3, 16);
  const NetworkAlignment alignment = align(parent, child);
  for (std::size_t i = 0; i < 15; ++i) EXPECT_EQ(alignment[i], i);
  EXPECT_EQ(alignment[15], 21U);
  EXPECT_EQ(alignment[16], 22U);
  EXPECT_EQ(inherited_share(parent, child, alignment), 1.0);
}

TEST(NetworkAlignment, DoesNotDependOnNames) {
  const Network parent = blocks(2, 3, 16);
  Network child = blocks(3, 5, 32);
  const NetworkAlignment alignment = align(parent, child);
  for (Layer& layer : child.layers) layer.name = "layer " + std::to_string(&layer - child.layers.data());
  std::swap(child.layers[0].name, child.layers[3].name);
  EXPECT_EQ(align(parent, child), alignment);
}

TEST(NetworkAlignment, FollowsChangedWidthsAndKernels) {
  const Network parent = blocks(2, 5, 16);
  const Network child = blocks(2, 3, 32);
  const NetworkAlignment alignment = align(parent, child);
  for (std::size_t i = 0; i < child.layers.size(); ++i) EXPECT_EQ(alignment[i], i);
  const double shared = (16 * 9 + 16) + (16 * 16 * 9 + 16) + 4 * 16 + 10 * 16 + 10;
  EXPECT_DOUBLE_EQ(inherited_share(parent, child, alignment),
                   shared / static_cast<double>(child.cost.parameters));
}

TEST(NetworkAlignment, PrefersTheLayerThatSharesTheMost) {
  const Network parent = network_from_yaml(
      "[{conv2d: {channels: 8, kernel: 3}}, {conv2d: {channels: 64, kernel: 3}}, global_average_pool]",
      {{64, 9, 9}, 0});
  const Network child =
      network_from_yaml("[{conv2d: {channels: 64, kernel: 3}}, global_average_pool]", {{64, 9, 9}, 0});
  // 8 x 64 channels of the first against 64 x 8 of the second: equal weights, but more biases.
  EXPECT_THAT(align(parent, child), ElementsAre(1U, 2U));
}

TEST(NetworkAlignment, PutsAnAddedPoolBetweenTheBlocks) {
  const Network parent = network_from_yaml(
      "[{conv2d: {channels: 8, kernel: 3}}, relu, {conv2d: {channels: 8, kernel: 3}}, relu, "
      "global_average_pool, {linear: {features: 10}}]");
  const Network child = network_from_yaml(
      "[{conv2d: {channels: 8, kernel: 3}}, relu, {max_pool: {kernel: 2}}, "
      "{conv2d: {channels: 8, kernel: 3}}, relu, global_average_pool, {linear: {features: 10}}]");
  EXPECT_THAT(align(parent, child), ElementsAre(0U, 1U, kAdded, 2U, 3U, 4U, 5U));
}

TEST(NetworkAlignment, NeverMakesAHiddenLayerTheClassifier) {
  const Network parent =
      network_from_yaml("[flatten, {linear: {features: 64}}, relu, {linear: {features: 10}}]");
  const Network child = network_from_yaml("[flatten, {linear: {features: 10}}]");
  EXPECT_THAT(align(parent, child), ElementsAre(0U, 3U));
}

TEST(NetworkAlignment, SharesNothingBetweenDifferentKinds) {
  const Network parent = network_from_yaml("[flatten, {linear: {features: 10}}]");
  const Network child = network_from_yaml("[{conv2d: {channels: 10, kernel: 3}}, global_average_pool]");
  const NetworkAlignment alignment = align(parent, child);
  EXPECT_THAT(alignment, ElementsAre(kAdded, kAdded));
  EXPECT_EQ(inherited_share(parent, child, alignment), 0.0);
}

TEST(NetworkAlignment, KeepsResidualBlocksWhole) {
  const Network parent = residual_blocks({1, 1});
  const Network child = residual_blocks({1, 2, 1});
  const NetworkAlignment alignment = align(parent, child);
  expect_valid(parent, child, alignment);
  // Stem 0-2, then block and add: 3-6, 7-10; in the child the block of two is 7-13.
  for (std::size_t i = 0; i < 7; ++i) EXPECT_EQ(alignment[i], i);
  std::set<std::size_t> continued;
  for (const auto& layer : alignment) {
    if (layer) continued.insert(*layer);
  }
  EXPECT_EQ(continued.size(), parent.layers.size());  // nothing of the parent is lost
  for (std::size_t c = 1; c < child.layers.size(); ++c) {
    if (child.layers[c].kind != "batch_norm" || !alignment[c]) continue;
    EXPECT_EQ(alignment[c - 1], *alignment[c] - 1) << "batch_norm " << c;
  }
}

TEST(NetworkAlignment, TellsBranchesApartByTheirWiring) {
  // Two branches of one kernel and width from one layer; the child has a third one in front of them.
  const auto branches = [](const std::vector<int>& kernels) {
    Network network = network_from_yaml("[{conv2d: {channels: 8, kernel: 3}}]", {{1, 28, 28}, 0});
    std::vector<std::size_t> ends;
    ends.reserve(kernels.size());
    for (const int kernel : kernels) ends.push_back(add_block(network, 0, 8, kernel));
    add_reader(network, "add", ends);
    return network;
  };
  EXPECT_THAT(align(branches({3, 5}), branches({3, 5, 5})),
              ElementsAre(0U, 1U, 2U, 3U, 4U, 5U, 6U, kAdded, kAdded, kAdded, 7U));
  EXPECT_THAT(align(branches({3, 5}), branches({1, 3, 5})),
              ElementsAre(0U, kAdded, kAdded, kAdded, 1U, 2U, 3U, 4U, 5U, 6U, 7U));
}

TEST(NetworkAlignment, IsTheBestOfAllOnSmallNetworks) {
  const SearchSpace space = space_from_yaml(R"(
parameters:
  first: {choice: [2, 4]}
  second: {choice: [2, 4]}
  kernel: {choice: [1, 3]}
  norms: {range: [0, 2]}
  tail: {range: [0, 1]}
network:
  - conv2d: {channels: $first, kernel: $kernel}
  - repeat: $norms
    body: [batch_norm, relu]
  - conv2d: {channels: $second, kernel: 3}
  - repeat: $tail
    body: [relu]
  - global_average_pool
  - linear: {features: 10}
)");
  int pairs = 0;
  for (std::int64_t p = 0; p < space.genotype_count(); p += 5) {
    const Network parent = space.build(space.genotype_at(p)).network();
    for (std::int64_t c = 0; c < space.genotype_count(); c += 7) {
      const Network child = space.build(space.genotype_at(c)).network();
      const NetworkAlignment alignment = align(parent, child);
      expect_valid(parent, child, alignment);
      NetworkAlignment any(child.layers.size());
      EXPECT_EQ(worth(parent, child, alignment), best_worth(parent, child, any)) << p << " to " << c;
      ++pairs;
    }
  }
  EXPECT_GT(pairs, 60);
}

TEST(NetworkAlignment, IsValidForAllMutationsOfTheReferenceSpace) {
  const SearchSpace space = space_from_yaml(kCnnSpace);
  RandomStream random(3);
  for (int i = 0; i < 200; ++i) {
    const Genotype genotype = space.sample(random);
    const Network parent = space.build(genotype).network();
    const Network child = space.build(*space.mutate(genotype, 0.3, random)).network();
    const NetworkAlignment alignment = align(parent, child);
    expect_valid(parent, child, alignment);
    EXPECT_EQ(alignment.front(), 0U);  // the layer that sees the images
    EXPECT_EQ(alignment.back(), parent.layers.size() - 1);
    const double share = inherited_share(parent, child, alignment);
    EXPECT_GT(share, 0);
    EXPECT_LE(share, 1);
  }
}

TEST(TensorAxes, OfAConvolutionAreChannelsAndItsWindow) {
  const Network network =
      network_from_yaml("[{conv2d: {channels: 8, kernel: 3}}, batch_norm]", {{2, 9, 9}, 0});
  EXPECT_THAT(tensor_axes(network, 0, *find_tensor(network.layers[0], "weight")),
              ElementsAre(Axis{{8, 1, 1}}, Axis{{2, 1, 1}}, Axis{{1, 3, 1}}, Axis{{1, 3, 1}}));
  EXPECT_THAT(tensor_axes(network, 1, *find_tensor(network.layers[1], "running_mean")),
              ElementsAre(Axis{{8, 1, 1}}));
}

TEST(TensorAxes, BehindFlattenAreChannelsRowsAndColumns) {
  const Network network =
      network_from_yaml("[flatten, batch_norm, relu, {linear: {features: 5}}]", {{2, 3, 4}, 0});
  EXPECT_THAT(tensor_axes(network, 1, *find_tensor(network.layers[1], "weight")),
              ElementsAre(Axis{{2, 3, 4}}));
  EXPECT_THAT(tensor_axes(network, 3, *find_tensor(network.layers[3], "weight")),
              ElementsAre(Axis{{5, 1, 1}}, Axis{{2, 3, 4}}));
  EXPECT_EQ(find_tensor(network.layers[3], "gain"), nullptr);
}

/// A convolution over two joined ones, of these channels.
Network joined(std::int64_t left, std::int64_t right) {
  Network network;
  network.input = {2, 4, 4};
  const auto conv = [&](std::int64_t channels) {
    return network_from_yaml("[{conv2d: {channels: " + std::to_string(channels) + ", kernel: 1}}]",
                             {network.input, 0})
        .layers.front();
  };
  network.layers = {conv(left), conv(right)};
  add_reader(network, "concat", {0, 1});
  network.layers[2].output.channels = left + right;
  add_reader(network, "batch_norm", {2});
  add_block(network, 3, 5, 1);
  return network;
}

TEST(TensorAxes, BehindAConcatAreASegmentPerInput) {
  const Network network = joined(3, 4);
  EXPECT_THAT(tensor_axes(network, 4, *find_tensor(network.layers[4], "weight")),
              ElementsAre(Axis{{5, 1, 1}}, Axis{{3, 1, 1}, {4, 1, 1}}, Axis{{1, 1, 1}}, Axis{{1, 1, 1}}));
}

TEST(InheritedShare, CountsTheCommonChannelsOfEachJoinedInput) {
  const Network parent = joined(3, 4);
  const Network child = joined(6, 2);
  const std::int64_t convolutions = (3 + 2) * 2 + (3 + 2);
  const std::int64_t behind = 5 * (3 + 2) + 5 + 2 * 5;
  const std::int64_t all = (6 + 2) * 2 + (6 + 2) + 5 * (6 + 2) + 5 + 2 * 5;
  EXPECT_DOUBLE_EQ(inherited_share(parent, child, align(parent, child)),
                   static_cast<double>(convolutions + behind) / static_cast<double>(all));
}

TEST(InheritedShare, CountsTheCommonChannelsRowsAndColumns) {
  const Network parent = network_from_yaml("[flatten, {linear: {features: 5, bias: false}}]", {{2, 4, 4}, 0});
  const Network child = network_from_yaml("[flatten, {linear: {features: 5, bias: false}}]", {{3, 2, 4}, 0});
  EXPECT_DOUBLE_EQ(inherited_share(parent, child, align(parent, child)), 2.0 * 2 * 4 / (3 * 2 * 4));
}

}  // namespace
}  // namespace skyline::space
