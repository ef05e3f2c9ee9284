// Int8 networks against whole-number loops, against the networks that they are made of, and against
// themselves in other batches.
#include "train/quantized/quantize.hpp"

#include "skyline/core/error.hpp"

#include "support/graph_builder.hpp"
#include "train/device/host_accelerator.hpp"
#include "train/fixtures/layer_oracles.hpp"
#include "train/quantized/int8_networks.hpp"
#include "train/quantized/int8_numbers.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline::train::test {
namespace {

using skyline::testing::GraphBuilder;
using space::Int8Network;
using space::Int8Op;
using space::Int8Step;
using space::Network;
using space::Shape;
using Tensors = std::vector<trial::NamedTensor>;
using Numbers = std::vector<std::int64_t>;  // [channels, height, width], above the grid's zero

constexpr std::int64_t kSamples = 40;

AttributeValues window(std::int64_t channels, std::int64_t kernel, std::int64_t stride = 1) {
  return {{"channels", channels}, {"kernel", kernel}, {"stride", stride}};
}

/// Convolution of a sample in 64-bit whole numbers.
Numbers convolved(const Int8Network& made, std::size_t index, const Numbers& input) {
  const Int8Step& step = made.view.steps[index];
  const space::Int8Weights& weights = made.weights[index];
  const Shape& from = made.view.tensors[step.inputs[0]];
  const Shape& to = made.view.tensors[step.output];
  const auto& [kernel, stride, padding, dilation] = step.products.window;
  const std::int64_t inputs = from.channels / step.products.groups;
  const std::int64_t outputs = to.channels / step.products.groups;
  Numbers sums;
  for (std::int64_t c = 0; c < to.channels; ++c) {
    for (std::int64_t y = 0; y < to.height; ++y) {
      for (std::int64_t x = 0; x < to.width; ++x) {
        std::int64_t sum = weights.biases[static_cast<std::size_t>(c)];
        for (std::int64_t i = 0; i < inputs * kernel[0] * kernel[1]; ++i) {
          const std::int64_t row = y * stride[0] - padding[0] + i / kernel[1] % kernel[0] * dilation[0];
          const std::int64_t column = x * stride[1] - padding[1] + i % kernel[1] * dilation[1];
          if (row < 0 || column < 0 || row >= from.height || column >= from.width) continue;
          const std::int64_t channel = c / outputs * inputs + i / (kernel[0] * kernel[1]);
          const auto at = static_cast<std::size_t>((channel * from.height + row) * from.width + column);
          sum += weights.values[static_cast<std::size_t>(c * inputs * kernel[0] * kernel[1] + i)] * input[at];
        }
        sums.push_back(sum);
      }
    }
  }
  return sums;
}

/// Brings sums to the grid of the output.
Numbers requantized(const Int8Network& made, std::size_t index, Numbers sums) {
  const Int8Step& step = made.view.steps[index];
  const space::Int8Grid& in = *made.grids[step.inputs[0]];
  const space::Int8Grid& out = *made.grids[step.output];
  const auto places = static_cast<std::size_t>(made.view.tensors[step.output].elements() /
                                               made.view.tensors[step.output].channels);
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const float factor = in.scale * made.weights[index].scales[i / places] / out.scale;
    const double steps = static_cast<double>(std::nearbyint(static_cast<float>(sums[i]) * factor)) + out.zero;
    const double low = std::nearbyint(step.low / static_cast<double>(out.scale)) + out.zero;
    const double high = std::nearbyint(step.high / static_cast<double>(out.scale)) + out.zero;
    sums[i] = std::lround(std::clamp(std::clamp(steps, low, high), -128.0, 127.0)) - out.zero;
  }
  return sums;
}

/// Outputs of a network of convolutions and views alone for one sample.
std::vector<float> looped_outputs(const Int8Network& made, const at::Tensor& image) {
  std::vector<Numbers> held(made.view.tensors.size());
  const space::Int8Grid& in = *made.grids[0];
  const at::Tensor dense = image.contiguous();
  for (std::int64_t i = 0; i < dense.numel(); ++i) {
    const float value = dense.const_data_ptr<float>()[i];
    const double steps = static_cast<double>(std::nearbyint(value / in.scale)) + in.zero;
    held[0].push_back(std::lround(std::clamp(steps, -128.0, 127.0)) - in.zero);
  }
  for (std::size_t i = 0; i < made.view.steps.size(); ++i) {
    const Int8Step& step = made.view.steps[i];
    const Numbers& input = held[step.inputs[0]];
    EXPECT_TRUE(step.op == Int8Op::kView || step.op == Int8Op::kConvolution);
    held[step.output] = step.op == Int8Op::kView ? input : requantized(made, i, convolved(made, i, input));
  }
  std::vector<float> outputs;
  for (const std::int64_t number : held[made.view.output])
    outputs.push_back(static_cast<float>(number) * made.grids[made.view.output]->scale);
  return outputs;
}

/// Convolutions with all sorts of windows, norms and limits.
Network convolutions() {
  GraphBuilder graph({3, 12, 10});
  std::size_t last = graph.add("conv2d", {}, window(8, 3));
  last = graph.add("relu6", {graph.add("batch_norm", {last})});
  last = graph.add("depthwise_conv2d", {last}, {{"kernel", std::int64_t{3}}, {"stride", std::int64_t{2}}});
  last = graph.add("batch_norm", {graph.add("relu", {last})});  // which cannot be folded
  last = graph.add("conv2d", {last},
                   {{"channels", std::int64_t{8}}, {"kernel", std::int64_t{1}}, {"stride", std::int64_t{2}}});
  last = graph.add("conv2d", {last},
                   {{"channels", std::int64_t{6}},
                    {"kernel", std::int64_t{2}},
                    {"padding", std::int64_t{0}},
                    {"groups", std::int64_t{2}}});
  last = graph.add("flatten", {graph.add("relu", {last})});
  graph.add("linear", {last}, {{"features", std::int64_t{5}}});
  return graph.build();
}

void expect_whole_numbers(const Network& network, const Tensors& tensors, const at::Tensor& images) {
  const Int8Network made = quantize(network, tensors, images, false);
  const at::Tensor got = int8_outputs(network, tensors, made, images, images.size(0));
  for (std::int64_t i = 0; i < images.size(0); ++i) {
    const std::vector<float> looped = looped_outputs(made, images[i]);
    const float* const row = got[i].const_data_ptr<float>();
    EXPECT_EQ(std::vector<float>(row, row + got.size(1)), looped) << "sample " << i;
  }
}

/// Expects the same bits in other batches.
void expect_same_in_any_batch(const Network& network, const Tensors& tensors, const Int8Network& made,
                              const at::Tensor& images) {
  const at::Tensor expected = int8_outputs(network, tensors, made, images, images.size(0));
  for (const std::int64_t batch : {1, 7}) {
    EXPECT_TRUE(same_bits(int8_outputs(network, tensors, made, images, batch), expected))
        << "batch " << batch;
  }
}

class Quantize : public ::testing::Test {
 protected:
  void SetUp() override { at::set_num_threads(1); }
  RandomStream random{71};
};

TEST_F(Quantize, ComputesConvolutionsAsLoopsOverWholeNumbersDo) {
  const Network network = convolutions();
  for (int i = 0; i < 5; ++i) {
    const Tensors tensors = drawn_tensors(network, random);
    expect_whole_numbers(network, tensors, drawn_tensor(random, {kSamples, 3, 12, 10}, -2, 3));
  }
}

TEST_F(Quantize, IsExactWhereSumsPassWhatFloat32Holds) {
  GraphBuilder graph({600, 2, 2});
  const std::size_t wide = graph.add("conv2d", {}, window(4, 1));
  graph.add("linear", {graph.add("flatten", {wide})}, {{"features", std::int64_t{3}}});
  const Network network = graph.build();
  Tensors tensors = drawn_tensors(network, random);
  for (float& weight : tensor_named(tensors, "conv2d_0.weight").values) weight = std::abs(weight);
  tensor_named(tensors, "conv2d_0.bias").values = {1e5, -3e6, 0.1F, 4e8};  // beside outputs of about 30
  const at::Tensor images = drawn_tensor(random, {kSamples, 600, 2, 2}, 0, 1);
  EXPECT_FALSE(fits_float(quantize(network, tensors, images, false).weights[0]));
  expect_whole_numbers(network, tensors, images);
}

TEST_F(Quantize, KeepsChannelsOfAnyUnitAndDeadOnes) {
  const Network network = convolutions();
  Tensors tensors = drawn_tensors(network, random);
  std::vector<float>& weights = tensor_named(tensors, "conv2d_0.weight").values;
  const std::size_t each = weights.size() / 8;
  for (std::size_t i = 0; i < each; ++i) {
    weights[i] *= 1e-2F;
    weights[each + i] *= 1e5F;
    weights[2 * each + i] = 0;
  }
  std::vector<float>& variance = tensor_named(tensors, "batch_norm_1.running_var").values;
  variance[0] = 1e-4F;
  variance[1] = 1e10F;
  const at::Tensor images = drawn_tensor(random, {kSamples, 3, 12, 10}, -2, 3);
  const Int8Network made = quantize(network, tensors, images, false);
  EXPECT_LT(relative_error(int8_outputs(network, tensors, made, images, kSamples),
                           float_outputs(network, tensors, images)),
            0.06);
  expect_whole_numbers(network, tensors, images);
}

TEST_F(Quantize, ShiftsBiasesUntilChannelsHaveTheMeansOfTheFloatNetwork) {
  GraphBuilder graph({3, 8, 8});
  std::size_t last = graph.add("relu", {graph.add("conv2d", {}, window(6, 3))});
  last = graph.add("flatten", {graph.add("conv2d", {last}, window(5, 3))});
  graph.add("linear", {last}, {{"features", std::int64_t{8}}});
  const Network network = graph.build();
  const Tensors tensors = drawn_tensors(network, random);
  const at::Tensor images = drawn_tensor(random, {300, 3, 8, 8}, -1, 1);
  const Int8Network made = quantize(network, tensors, images, true);
  const at::Tensor difference = int8_outputs(network, tensors, made, images, 100)
                                    .sub(float_outputs(network, tensors, images))
                                    .to(at::kDouble);
  const double deviation = difference.std().item<double>();
  EXPECT_LT(difference.mean(0).abs().max().item<double>(), 0.02 * deviation);
}

TEST_F(Quantize, LeavesNumbersInFloat32) {
  GraphBuilder graph({4, 1, 1});
  graph.add("flatten", {graph.add("linear", {}, {{"features", std::int64_t{3}}})});
  const Network network = graph.build();
  const Tensors tensors = drawn_tensors(network, random);
  const at::Tensor images = drawn_tensor(random, {kSamples, 4, 1, 1}, -1, 1);
  const Int8Network made = quantize(network, tensors, images, true);
  EXPECT_FALSE(made.grids[made.view.output]);
  EXPECT_TRUE(made.grids[0]);
  expect_same_in_any_batch(network, tensors, made, images);
  EXPECT_LT(relative_error(int8_outputs(network, tensors, made, images, 7),
                           float_outputs(network, tensors, images)),
            0.02);
}

/// Every kind of layer behind a convolution and before a linear layer.
TEST_F(Quantize, HasTheSameBitsInAnyBatchForEveryKindOfLayer) {
  std::vector<std::string> known;
  for (const LayerOracle& oracle : oracles()) {
    for (int i = 0; i < 4; ++i) {
      const DrawnLayer drawn = oracle.draw(random);
      SCOPED_TRACE(oracle.kind);
      GraphBuilder graph(drawn.inputs.front());
      graph.add(oracle.kind, {}, drawn.attributes);
      const Network& network = graph.build();
      const Tensors tensors = drawn_tensors(network, random);
      const Shape& shape = network.input;
      const at::Tensor images =
          drawn_tensor(random, {kSamples, shape.channels, shape.height, shape.width}, -2, 2);
      const Int8Network made = quantize(network, tensors, images, false);
      expect_same_in_any_batch(network, tensors, made, images);
      const at::Tensor expected = float_outputs(network, tensors, images);
      if (expected.std().item<double>() == 0) continue;  // zero
      EXPECT_LT(relative_error(int8_outputs(network, tensors, made, images, 7), expected), 0.12);
    }
  }
}

/// Branches, sums, products and joins, pools of even sizes.
Network branches() {
  GraphBuilder graph({3, 9, 8});
  const std::size_t stem =
      graph.add("relu", {graph.add("batch_norm", {graph.add("conv2d", {}, window(8, 3))})});
  const std::size_t gated = graph.add("squeeze_excitation", {stem}, {{"reduction", std::int64_t{4}}});
  const std::size_t sum = graph.add("relu", {graph.add("add", {stem, gated})});
  const std::size_t pooled = graph.add("max_pool", {sum}, {{"kernel", std::int64_t{2}}});
  const std::size_t mean = graph.add("average_pool", {sum}, {{"kernel", std::int64_t{2}}});
  const std::size_t joined =
      graph.add("concat", {pooled, graph.add("hard_swish", {mean}), graph.add("silu", {mean})});
  const std::size_t means = graph.add("global_average_pool", {joined});
  const std::size_t most = graph.add("global_max_pool", {joined});
  const std::size_t product = graph.add("multiply", {means, graph.add("sigmoid", {most})});
  graph.add("linear", {graph.add("flatten", {product})}, {{"features", std::int64_t{5}}});
  return graph.build();
}

TEST_F(Quantize, FollowsNetworksOfBranches) {
  const Network network = branches();
  for (int i = 0; i < 4; ++i) {
    const Tensors tensors = drawn_tensors(network, random);
    const at::Tensor images = drawn_tensor(random, {150, 3, 9, 8}, -1, 1);
    const Int8Network made = quantize(network, tensors, images, false);
    expect_same_in_any_batch(network, tensors, made, images);
    EXPECT_LT(relative_error(int8_outputs(network, tensors, made, images, 50),
                             float_outputs(network, tensors, images)),
              0.1);
  }
}

TEST_F(Quantize, HasTheSameBitsWithAnyNumberOfThreads) {
  for (const Network& network : {convolutions(), branches()}) {
    const Tensors tensors = drawn_tensors(network, random);
    const Shape& shape = network.input;
    const at::Tensor images = drawn_tensor(random, {1000, shape.channels, shape.height, shape.width}, -1, 1);
    const Int8Network made = quantize(network, tensors, images.narrow(0, 0, kSamples), false);
    const at::Tensor expected = int8_outputs(network, tensors, made, images, 1000);
    at::set_num_threads(2);
    EXPECT_TRUE(same_bits(int8_outputs(network, tensors, made, images, 1000), expected));
    at::set_num_threads(1);
  }
}

TEST_F(Quantize, NamesTheLayerAndTheSampleOfAValueThatIsNotFinite) {
  GraphBuilder graph({2, 1, 1});
  graph.add("linear", {graph.add("linear", {}, {{"features", std::int64_t{3}}})},
            {{"features", std::int64_t{2}}});
  const Network network = graph.build();
  Tensors tensors = drawn_tensors(network, random);
  at::Tensor images = drawn_tensor(random, {100, 2, 1, 1}, 1, 2);
  images[70][1] = 1e30F;
  tensor_named(tensors, "linear_0.weight").values[1] = 1e20F;
  const auto made = [&] { return quantize(network, tensors, images, false); };
  EXPECT_THAT(made,
              ::testing::ThrowsMessage<UserError>("int8: linear_0 is not finite on calibration sample 70"));
  images[3][0] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THAT(made,
              ::testing::ThrowsMessage<UserError>("int8: the input is not finite on calibration sample 3"));
}

}  // namespace
}  // namespace skyline::train::test
