// Files of int8 networks whose numbers are written by hand.
#include "skyline/core/error.hpp"

#include "model_export/model/exported_model.hpp"
#include "model_export/tflite/c_text.hpp"
#include "model_export/tflite/tflite_model.hpp"
#include "model_export/tflite/tflite_weights.hpp"
#include "space/quantized/int8_network.hpp"
#include "support/graph_builder.hpp"
#include "support/user_error_of.hpp"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline::model_export {
namespace {

using skyline::testing::GraphBuilder;
using skyline::testing::user_error_of;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

/// Gives each tensor one grid, and each weight a number of its own.
space::Int8Network numbered(const space::Network& network) {
  space::Int8Network int8{space::int8_view(network), {}, {}};
  int8.grids.assign(int8.view.tensors.size(), space::Int8Grid{0.5F, 3});
  int8.weights.resize(int8.view.steps.size());
  for (std::size_t i = 0; i < int8.view.steps.size(); ++i) {
    const space::Int8Step& step = int8.view.steps[i];
    if (step.op != space::Int8Op::kConvolution) continue;
    const auto outputs = static_cast<std::size_t>(int8.view.tensors[step.output].channels);
    const auto& kernel = step.products.window.kernel;
    const std::int64_t inputs = int8.view.tensors[step.inputs.front()].channels / step.products.groups;
    const auto each = static_cast<std::size_t>(inputs * kernel[0] * kernel[1]);
    for (std::size_t w = 0; w < outputs * each; ++w) {
      int8.weights[i].values.push_back(static_cast<std::int8_t>(w % 100));
    }
    int8.weights[i].scales.assign(outputs, 0.25F);
    int8.weights[i].biases.assign(outputs, 7);
  }
  return int8;
}

/// A flattened image of two channels, 1 x 2, and a linear layer.
space::Network flat_network() {
  GraphBuilder graph({2, 1, 2});
  graph.add("linear", {graph.add("flatten", {})}, {{"features", std::int64_t{2}}});
  return graph.build();
}

CSources sources_of(const space::Network& network, const space::Int8Network& int8,
                    const std::vector<std::string>& names) {
  const store::WeightsFile none;
  return c_sources({network, none, {10, 20}, {2, 4}, {{"run", "a */ b"}, {"input", "pixels"}}}, int8,
                   "trial_7", names);
}

TEST(Int8Files, ALinearLayerReadsAnImageWithoutACopyInChannelsLastOrder) {
  const space::Network network = flat_network();
  const TfliteModel model = tflite_model(network, numbered(network));
  ASSERT_EQ(model.graph.ops().size(), 1);
  EXPECT_STREQ(model.graph.ops().front().name, "Conv2D");
  const TfliteTensor& weight = model.graph.tensor(1);
  EXPECT_THAT(weight.dims, ElementsAre(2, 1, 2, 2));
  EXPECT_EQ(weight.values, std::string("\0\2\1\3\4\6\5\7", 8));  // columns, then channels
  EXPECT_THAT(weight.scales, ElementsAre(0.25F, 0.25F));
  EXPECT_THAT(model.graph.tensor(2).scales, ElementsAre(0.125F, 0.125F));
}

TEST(Int8Files, StepsThatStayFloatAreRefusedByName) {
  GraphBuilder graph({2, 4, 4});
  graph.add("layer_norm",
            {graph.add("conv2d", {}, {{"channels", std::int64_t{3}}, {"kernel", std::int64_t{1}}})});
  const space::Network& network = graph.build();
  EXPECT_EQ(user_error_of([&] { tflite_model(network, numbered(network)); }),
            "int8: layer_norm_1 has no int8 kernel; leave it out, or take --format onnx-int8");
}

TEST(Int8Files, AnAveragePoolWhoseBorderNoKernelHasIsRefusedByName) {
  GraphBuilder graph({2, 8, 8});
  graph.add("average_pool", {},
            {{"kernel", std::int64_t{3}}, {"stride", std::int64_t{2}}, {"padding", std::int64_t{1}}});
  const space::Network& network = graph.build();
  EXPECT_THAT(user_error_of([&] { tflite_model(network, numbered(network)); }),
              HasSubstr("int8: average_pool_0 pads as no int8 kernel does"));
}

TEST(Int8Files, ABorderThatTflitePadsOnTheOtherSideIsAnOperator) {
  const space::Window strided{.kernel = {3, 3}, .stride = {2, 2}, .padding = {1, 1}};
  const Border even = border_of(strided, {1, 8, 8}, {1, 4, 4});
  EXPECT_TRUE(even.is_explicit);
  EXPECT_THAT(even.before, ElementsAre(1, 1));
  EXPECT_THAT(even.after, ElementsAre(0, 0));  // no window reaches the last column of a border of 1
  const Border odd = border_of(strided, {1, 7, 7}, {1, 4, 4});
  EXPECT_FALSE(odd.is_explicit);
  EXPECT_EQ(odd.padding, TflitePadding::kSame);
  const Border none = border_of({.kernel = {2, 2}, .stride = {2, 2}}, {1, 7, 7}, {1, 3, 3});
  EXPECT_EQ(none.padding, TflitePadding::kValid);
}

TEST(Int8Files, ALargerKernelWithZerosAtItsEndNeedsNoOperatorForTheBorder) {
  const space::Window strided{.kernel = {1, 3}, .stride = {1, 2}, .padding = {0, 1}};
  const auto larger = same_window(strided, {1, 1, 8}, {1, 1, 4});
  ASSERT_TRUE(larger);
  EXPECT_THAT(larger->kernel, ElementsAre(1, 4));
  EXPECT_EQ(border_of(*larger, {1, 1, 8}, {1, 1, 4}).padding, TflitePadding::kSame);
  EXPECT_FALSE(same_window({.kernel = {3, 3}, .stride = {2, 2}, .padding = {3, 3}}, {1, 8, 8}, {1, 6, 6}));
  const space::Int8Weights weights{{1, 2, 3, 4}, {1}, {0}};
  EXPECT_THAT(with_kernel(weights, {2, 1}, {2, 2}).values, ElementsAre(1, 0, 2, 0, 3, 0, 4, 0));
  EXPECT_THAT(with_kernel(weights, {1, 2}, {2, 2}).values, ElementsAre(1, 2, 0, 0, 3, 4, 0, 0));
}

TEST(Int8Files, ABorderIsCopiedOnlyWhereThePeakOfTheActivationsHasRoomForIt) {
  const auto kernel_of = [](std::int64_t last_channels) {
    GraphBuilder graph({2, 8, 8});
    const std::size_t strided =
        graph.add("conv2d", {},
                  {{"channels", std::int64_t{4}}, {"kernel", std::int64_t{3}}, {"stride", std::int64_t{2}}});
    graph.add("conv2d", {strided}, {{"channels", last_channels}, {"kernel", std::int64_t{1}}});
    const space::Network& network = graph.build();
    const TfliteModel model = tflite_model(network, numbered(network));
    return std::pair(model.graph.ops().size(), model.graph.plan(model.input, model.output).bytes);
  };
  EXPECT_EQ(kernel_of(4), std::pair(1UL, 2UL * 64 + 4 * 16)) << "no operator for the border";
  EXPECT_EQ(kernel_of(40), std::pair(2UL, 4UL * 16 + 40 * 16)) << "the copy takes 9 x 9 x 2 bytes elsewhere";
}

TEST(Int8Files, ZerosOfAConcatenationAreConstantsOnItsGrid) {
  GraphBuilder graph({2, 8, 8});
  const std::size_t zeros = graph.add("zero", {});
  const std::size_t values =
      graph.add("conv2d", {}, {{"channels", std::int64_t{4}}, {"kernel", std::int64_t{1}}});
  graph.add("concat", {zeros, values});
  const space::Network& network = graph.build();
  space::Int8Network int8 = numbered(network);
  int8.grids.at(int8.view.output) = {0.75F, 9};
  const TfliteModel model = tflite_model(network, int8);
  EXPECT_EQ(model.graph.plan(model.input, model.output).bytes, 4UL * 64 + 6 * 64) << "without the zeros";
}

TEST(Int8Files, TheFileHasThePlanOfItsMemoryForTfliteMicro) {
  const space::Network network = flat_network();
  const space::Int8Network int8 = numbered(network);
  const TfliteModel model = tflite_model(network, int8);
  const MemoryPlan plan = model.graph.plan(model.input, model.output);
  EXPECT_THAT(plan.offsets, ElementsAre(0, 0, 0, 16)) << "input, weight, bias, output";
  const store::WeightsFile none;
  const std::string bytes = tflite_bytes({network, none, {}, {}, {}}, int8);
  EXPECT_THAT(bytes, HasSubstr("OfflineMemoryAllocation"));
  EXPECT_THAT(bytes, HasSubstr(bytes_of(std::vector<std::int32_t>{1, 1, 4, 0, 0, 0, 16})));
}

TEST(Int8Files, TheFileAlignsConstantsAndHasItsIdentifier) {
  const space::Network network = flat_network();
  const store::WeightsFile weights;
  const std::string bytes = tflite_bytes({network, weights, {}, {}, {}}, numbered(network));
  EXPECT_EQ(bytes.substr(4, 4), "TFL3");
  const std::size_t at = bytes.find(std::string("\0\2\1\3\4\6\5\7", 8));
  ASSERT_NE(at, std::string::npos);
  EXPECT_EQ(at % 16, 0);
}

TEST(Int8Files, TheBytesOfAFileAreInItsCSource) {
  const space::Network network = flat_network();
  const space::Int8Network int8 = numbered(network);
  const store::WeightsFile none;
  const ExportedModel model{network, none, {}, {}, {{"run", "a */ b"}}};
  const std::string bytes = tflite_bytes(model, int8);
  const CSources sources = sources_of(network, int8, {"cat", "dog"});
  EXPECT_EQ(sources.model_bytes, bytes.size());
  EXPECT_THAT(sources.source, HasSubstr(c_bytes(bytes)));
  EXPECT_THAT(sources.source, HasSubstr("alignas(16) const unsigned char trial_7_model[]"));
  EXPECT_THAT(sources.header, HasSubstr("a .tflite file, " + std::to_string(bytes.size()) + " of them. */"));
}

TEST(Int8Files, ChannelsHaveTwelveBytesBesideTheirWeightsAsTheCostsSay) {
  const auto size_of = [](std::int64_t channels) {
    GraphBuilder graph({1, 1, 1});
    graph.add("conv2d", {}, {{"channels", channels}, {"kernel", std::int64_t{1}}});
    const std::size_t first = graph.last();
    graph.add("depthwise_conv2d", {first}, {{"kernel", std::int64_t{1}}});
    const space::Network& network = graph.build();
    space::Int8Network int8 = numbered(network);
    for (std::size_t i = 0; i < int8.weights.size(); ++i) {  // no two tensors are equal
      space::Int8Weights& weights = int8.weights[i];
      for (std::size_t c = 0; c < weights.scales.size(); ++c)
        weights.scales[c] = static_cast<float>(4 * i + 1) / static_cast<float>(c + 1);
      weights.values.front() = static_cast<std::int8_t>(-1 - static_cast<int>(i));
      weights.biases.front() = static_cast<std::int32_t>(i);
    }
    const store::WeightsFile none;
    return tflite_bytes({network, none, {}, {}, {}}, int8).size();
  };
  constexpr std::size_t kOfZero = 8;  // the zeros of all scales of a size are one vector
  EXPECT_EQ(size_of(320) - size_of(160), 160 * (2 * (1 + 12) + kOfZero));
}

TEST(Int8Files, CSourcesSayHowValuesBecomeNumbers) {
  const space::Network network = flat_network();
  const CSources sources = sources_of(network, numbered(network), {"cat", "d\"og\n"});
  EXPECT_THAT(sources.source, AllOf(HasSubstr("trial_7_input_offset[2] = {10.0F, 20.0F}"),
                                    HasSubstr("trial_7_input_factor[2] = {4.0F, 8.0F}"),
                                    HasSubstr(R"(trial_7_output_names[2] = {"cat", "d\"og\012"})")));
  EXPECT_THAT(sources.header, AllOf(HasSubstr("run: a * / b"), HasSubstr("#define trial_7_input_zero (3)"),
                                    HasSubstr("#define trial_7_output_scale 0.5F"), Not(HasSubstr("@"))));
  EXPECT_THAT(sources.example, AllOf(HasSubstr("#include \"trial_7.h\""), HasSubstr("resolver.AddConv2D()"),
                                     Not(HasSubstr("@"))));
}

TEST(Int8Files, CSourcesSayWhatOutputsMean) {
  const space::Network network = flat_network();
  const auto sources = [&](const std::string& targets) {
    const store::WeightsFile none;
    return c_sources({network, none, {}, {}, {{"targets", targets}}}, numbered(network), "trial_7",
                     {"a", "b"});
  };
  EXPECT_THAT(sources("classes").header, HasSubstr("output_zero); the largest number is the class. */"));
  EXPECT_THAT(sources("classes").example, HasSubstr("the largest one is that of the class"));
  EXPECT_THAT(sources("labels").header,
              HasSubstr("a label applies where the number is above output_zero. */"));
  EXPECT_THAT(sources("labels").example, HasSubstr("a label applies where its one is above 0"));
}

TEST(Int8Files, AnOutputInFloatIsComputedByAFloatLayer) {
  const space::Network network = flat_network();
  space::Int8Network int8 = numbered(network);
  int8.grids.back().reset();
  const TfliteModel model = tflite_model(network, int8);
  EXPECT_EQ(model.graph.tensor(model.output).type, TfliteType::kFloat32);
  const CSources sources = sources_of(network, int8, {"a", "b"});
  EXPECT_THAT(sources.source, HasSubstr("trial_7_output_factor[2] = {1.0F, 1.0F}"));
  EXPECT_THAT(sources.example, HasSubstr("result->data.f[i]"));
}

TEST(Int8Files, AnInputThatIsTheOutputInFloatIsDequantized) {
  GraphBuilder graph({2, 1, 2});
  graph.add("flatten", {});
  const space::Network& network = graph.build();
  space::Int8Network int8 = numbered(network);
  int8.grids.back().reset();
  const TfliteModel model = tflite_model(network, int8);
  EXPECT_EQ(model.graph.tensor(model.output).type, TfliteType::kFloat32);
  EXPECT_STREQ(model.graph.ops().back().name, "Dequantize");
}

TEST(Int8Files, SharesInFloatHaveNoLimit) {
  GraphBuilder graph({2, 1, 2});
  graph.add("softmax", {});
  const space::Network& network = graph.build();
  space::Int8Network int8 = numbered(network);
  const store::WeightsFile none;
  const ExportedModel model{network, none, {}, {}, {}};
  EXPECT_THAT(onnx_int8_bytes(model, int8), HasSubstr("Min"));
  int8.grids.back().reset();
  EXPECT_THAT(onnx_int8_bytes(model, int8), Not(HasSubstr("Min")));
}

TEST(Int8Files, ACHeaderSaysHowSpectrogramsAreMade) {
  const space::Network network = flat_network();
  const store::WeightsFile none;
  ExportedModel model{network, none, {}, {}, {}};
  const std::vector<std::string> names(static_cast<std::size_t>(network.layers.back().output.elements()),
                                       "a");
  const auto header = [&] { return c_sources(model, numbered(network), "m", names).header; };
  EXPECT_THAT(header(), Not(HasSubstr("spectrogram")));
  model.metadata = {{"preparation",
                     R"({"sound":{"rate":8000,"length":400,"features":"log-mel","window":240,"hop":160,)"
                     R"("bands":2,"low":20.0,"high":4000.0,"fft":256}})"}};
  EXPECT_THAT(header(), HasSubstr("is of samples t * 160 to t * 160 + 239 of a sound at 8000 Hz"));
}

TEST(Int8Files, AKindThatStaysFloatWithoutAnExportIsNamed) {
  space::Network network = flat_network();
  space::Int8Network int8 = numbered(network);
  int8.view.steps.back().op = space::Int8Op::kLayer;
  network.layers.back().kind = "users_own";
  const store::WeightsFile none;
  EXPECT_THAT(user_error_of([&] {
                onnx_int8_bytes({network, none, {}, {}, {}}, int8);
              }),
              HasSubstr("no ONNX for layers of kind users_own"));
}

TEST(CText, TextsAreLiteralsWhateverTheyHold) {
  EXPECT_EQ(c_literal("a\\b\"?\xc3\xa9"), R"("a\\b\"\?\303\251")");
  EXPECT_EQ(c_comment("a */ /* b\nc"), "a * / / * b c");
}

TEST(CText, FloatsAreExactAndNoIntegers) {
  EXPECT_EQ(c_float(3), "3.0F");
  EXPECT_EQ(c_float(-1e20F), "-1e+20F");
  EXPECT_EQ(c_float(0.1F), "0.1F");
}

TEST(Int8Line, AHardSigmoidIsAConvolution) {
  const space::Int8Weights line = int8_line(1.0 / 6, 0.5, 0.05, 2);
  EXPECT_THAT(line.values, ElementsAre(127, 127));
  EXPECT_NEAR(line.scales[0] * 127, 1.0 / 6, 1e-7);
  EXPECT_NEAR(static_cast<float>(line.biases[1]) * line.scales[1] * 0.05F, 0.5, 1e-3);
  const space::Int8Weights tiny = int8_line(1.0 / 6, 0.5, 1e-30, 1);  // the bias stays within 31 bits
  EXPECT_EQ(tiny.biases[0], std::int32_t{1} << 30);
}

}  // namespace
}  // namespace skyline::model_export
