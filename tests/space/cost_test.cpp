#include "space/language/network_builder.hpp"
#include "space/space_from_yaml.hpp"

#include <gtest/gtest.h>

namespace skyline::space {
namespace {

const DataShape kSmallImages{{3, 8, 8}, 0};

Cost cost_of(const std::string& list) {
  return network_from_yaml(list, kSmallImages).cost;
}

TEST(Cost, CountsEachKindByItsConvention) {
  EXPECT_EQ(cost_of("[{conv2d: {channels: 4, kernel: 3}}]").flops, 2 * 9 * 3 * 4 * 64 + 4 * 64);
  EXPECT_EQ(cost_of("[{conv2d: {channels: 4, kernel: 3, bias: false}}]").flops, 2 * 9 * 3 * 4 * 64);
  EXPECT_EQ(cost_of("[{conv2d: {channels: 4, kernel: 3, stride: 2}}]").macs, 9 * 3 * 4 * 16);
  EXPECT_EQ(cost_of("[batch_norm]").flops, 2 * 192);
  EXPECT_EQ(cost_of("[relu]").flops, 192);
  EXPECT_EQ(cost_of("[dropout]").flops, 0);
  EXPECT_EQ(cost_of("[{max_pool: {kernel: 2}}]").flops, 192);
  EXPECT_EQ(cost_of("[global_average_pool]").flops, 192);
  EXPECT_EQ(cost_of("[flatten]").flops, 0);
  EXPECT_EQ(cost_of("[flatten, {linear: {features: 5}}]").flops, 2 * 192 * 5 + 5);
  EXPECT_EQ(cost_of("[flatten, {linear: {features: 5, bias: false}}]").flops, 2 * 192 * 5);
  EXPECT_EQ(cost_of("[flatten, {linear: {features: 5}}]").macs, 192 * 5);
}

TEST(Cost, SumsUpTheLayers) {
  const Network network = network_from_yaml(
      "[{conv2d: {channels: 4, kernel: 3}}, batch_norm, relu, flatten, {linear: {features: 5}}]",
      kSmallImages);
  Cost sum;
  for (const Layer& layer : network.layers) {
    sum.parameters += layer.cost.parameters;
    sum.flops += layer.cost.flops;
    sum.macs += layer.cost.macs;
  }
  EXPECT_EQ(network.cost.parameters, sum.parameters);
  EXPECT_EQ(network.cost.parameters, 4 * 3 * 9 + 4 + 2 * 4 + 256 * 5 + 5);
  EXPECT_EQ(network.cost.flops, sum.flops);
  EXPECT_EQ(network.cost.macs, sum.macs);
}

TEST(Cost, WeightBytesAreThoseOfParametersAndBuffers) {
  const Network network = network_from_yaml("[{conv2d: {channels: 4, kernel: 3}}, batch_norm]", kSmallImages);
  EXPECT_EQ(network.layers[1].cost.weight_bytes, 4 * 16);
  EXPECT_EQ(network.cost.weight_bytes, 4 * (4 * 3 * 9 + 4 + 16));
}

TEST(Cost, PeakOfAChainIsItsLargestInputAndOutput) {
  EXPECT_EQ(cost_of("[{conv2d: {channels: 16, kernel: 3}}, {max_pool: {kernel: 8}}, flatten]")
                .peak_activation_bytes,
            4 * (192 + 1024));
  const Network network = network_from_yaml("[{conv2d: {channels: 16, kernel: 3}}, relu]", kSmallImages);
  EXPECT_EQ(network.layers[0].cost.peak_activation_bytes, 4 * (192 + 1024));
  EXPECT_EQ(network.layers[1].cost.peak_activation_bytes, 4 * (1024 + 1024));
  EXPECT_EQ(network.cost.peak_activation_bytes, 4 * (1024 + 1024));
}

Layer layer_with(std::vector<std::size_t> inputs, std::int64_t elements) {
  Layer layer;
  layer.inputs = std::move(inputs);
  layer.output = {elements, 1, 1};
  return layer;
}

TEST(Cost, PeakKeepsWhatALaterLayerReads) {
  Network network;
  network.input = {10, 1, 1};
  // Layer 0 is read again by layer 2, so it lives beside layers 1 and 2; layer 3 reads layer 2 twice.
  network.layers = {layer_with({}, 100), layer_with({0}, 5), layer_with({0, 1}, 7), layer_with({2, 2}, 3)};
  EXPECT_EQ(peak_activation_bytes(network), 4 * (100 + 5 + 7));
}

TEST(Cost, PeakCountsAnOutputThatNobodyReadsWhileItIsMade) {
  Network network;
  network.input = {10, 1, 1};
  network.layers = {layer_with({}, 20), layer_with({}, 40), layer_with({0}, 1)};
  EXPECT_EQ(peak_activation_bytes(network), 4 * (10 + 20 + 40));
}

TEST(Cost, TrainingKeepsAllOutputsAndTheGradientsOnTheWayBack) {
  Network network;
  network.input = {10, 1, 1};
  network.layers = {layer_with({}, 100), layer_with({0}, 5), layer_with({0, 1}, 7)};
  const std::int64_t kept = 10 + 100 + 5 + 7;
  EXPECT_EQ(training_activation_bytes(network), 4 * (kept + 7 + 5 + 100));
  network.layers = {layer_with({}, 4), layer_with({0}, 4), layer_with({1}, 40), layer_with({2}, 1)};
  EXPECT_EQ(training_activation_bytes(network), 4 * (10 + 4 + 4 + 40 + 40 + 4)) << "once the last is gone";
  network.layers[1].inner_elements = 200;
  EXPECT_EQ(training_activation_bytes(network), 4 * (10 + 4 + 4 + 40 + 40 + 4 + 200));
  EXPECT_EQ(peak_activation_bytes(network), 4 * (4 + 4 + 200));
}

TEST(Cost, TrainingNeedsNoGradientOfADeadBranch) {
  Network network;
  network.input = {10, 1, 1};
  network.layers = {layer_with({}, 4), layer_with({0}, 1000), layer_with({0}, 2)};
  EXPECT_EQ(training_activation_bytes(network), 4 * (10 + 4 + 1000 + 2 + 2 + 4));
}

}  // namespace
}  // namespace skyline::space
