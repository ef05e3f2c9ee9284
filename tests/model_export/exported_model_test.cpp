#include "model_export/model/exported_model.hpp"

#include "skyline/core/error.hpp"
#include "skyline/space/layer_kind.hpp"

#include "support/graph_builder.hpp"
#include "support/user_error_of.hpp"

#include <cstdint>
#include <cstring>

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

space::Network tiny_network() {
  GraphBuilder graph({1, 2, 2});
  graph.add("linear", {graph.add("flatten", {})}, {{"features", std::int64_t{2}}});
  return graph.build();
}

store::WeightsFile tiny_weights() {
  store::WeightsFile weights;
  weights.tensors = {{"linear_1.weight", {2, 4}, {1, 2, 3, 4, 5, 6, 7, 8}}, {"linear_1.bias", {2}, {9, 10}}};
  return weights;
}

TEST(ExportedModel, EveryKindOfLayerHasBothForms) {
  space::Network network;
  for (const std::string& kind : space::layer_kind_names()) {
    network.layers.emplace_back().kind = kind;
  }
  for (const Format format : {Format::kOnnx, Format::kPytorch, Format::kSafetensors}) {
    EXPECT_THAT(kinds_without_export(network, format), IsEmpty());
  }
}

TEST(ExportedModel, AKindWithoutAFormIsNamed) {
  space::Network network = tiny_network();
  network.layers[0].kind = "users_own";
  EXPECT_THAT(kinds_without_export(network, Format::kOnnx), ElementsAre("users_own"));
  EXPECT_THAT(kinds_without_export(network, Format::kSafetensors), IsEmpty());
  const store::WeightsFile weights = tiny_weights();
  const ExportedModel model{network, weights, {0}, {1}, {}};
  EXPECT_THAT(user_error_of([&] { onnx_bytes(model); }), HasSubstr("no ONNX for layers of kind users_own"));
  EXPECT_THAT(user_error_of([&] { pytorch_source(model, "w"); }), HasSubstr("no PyTorch for layers of kind"));
}

TEST(ExportedModel, AKindCanBeAdded) {
  register_layer_export("doubled", {.onnx = [](OnnxLayer& layer) {
                          const ExportedValue input = layer.value();
                          return ExportedValue{layer.node("Add", {input.name, input.name}), input.form};
                        }});
  space::Network network = tiny_network();
  network.layers[0].kind = "doubled";
  network.layers[0].output = {4, 1, 1};
  EXPECT_THAT(kinds_without_export(network, Format::kOnnx), IsEmpty());
  EXPECT_THAT(kinds_without_export(network, Format::kPytorch), ElementsAre("doubled"));
  const store::WeightsFile weights = tiny_weights();
  EXPECT_THAT(onnx_bytes({network, weights, {0}, {1}, {}}), HasSubstr("flatten_0/Add"));
}

TEST(ExportedModel, HardGatesAreNotOfTheNodeThatOpencvTakesForAnother) {
  GraphBuilder graph({4, 2, 2});
  graph.add("squeeze_excitation", {}, {{"hard", true}});
  const space::Network network = graph.build();
  store::WeightsFile weights;
  for (const space::TensorSpec& tensor : network.layers.front().tensors) {
    const auto count = static_cast<std::size_t>(tensor.elements());
    weights.tensors.push_back(
        {network.layers.front().name + "." + tensor.name, tensor.dims, std::vector<float>(count)});
  }
  EXPECT_THAT(onnx_bytes({network, weights, {}, {}, {}}),
              AllOf(HasSubstr("Clip"), Not(HasSubstr("HardSigmoid"))));
}

TEST(ExportedModel, MoreWeightsThanAnOnnxFileHoldsAreRefused) {
  space::Network network = tiny_network();
  network.cost.weight_bytes = std::int64_t{3} << 30;
  const store::WeightsFile weights = tiny_weights();
  EXPECT_THAT(user_error_of([&] {
                onnx_bytes({network, weights, {0}, {1}, {}});
              }),
              HasSubstr("an ONNX file has at most 2 GB, and the weights have 3072 MiB"));
}

TEST(ExportedModel, AModelOfSpectrogramsMayTakeTheSound) {
  const space::Network network = tiny_network();
  const store::WeightsFile weights = tiny_weights();
  ExportedModel model{network, weights, {0}, {1}, {}};
  EXPECT_THAT(onnx_bytes(model), Not(HasSubstr("spectrogram/STFT")));
  model.log_mel = store::LogMel{.rate = 8000,
                                .length = 400,
                                .window = 240,
                                .hop = 160,
                                .bands = 2,
                                .low = 20,
                                .high = 4000,
                                .fft = 256};
  EXPECT_EQ(model.log_mel->frames(), 2);
  EXPECT_THAT(onnx_bytes(model), AllOf(HasSubstr("spectrogram/STFT"), HasSubstr("spectrogram/MatMul")));
}

TEST(ExportedModel, WeightsOfAnotherNetworkAreRefused) {
  const space::Network network = tiny_network();
  store::WeightsFile weights = tiny_weights();
  const auto problem = [&] {
    return user_error_of([&] { check_weights({network, weights, {0}, {1}, {}}, "weights/3.h5"); });
  };
  weights.tensors.back().dims = {3};
  EXPECT_THAT(problem(), HasSubstr("weights/3.h5: is not of this network: expected linear_1.bias next"));
  weights.tensors.pop_back();
  EXPECT_THAT(problem(), HasSubstr("expected linear_1.bias next, got nothing more"));
  weights = tiny_weights();
  weights.tensors.push_back({"more.weight", {1}, {1}});
  EXPECT_THAT(problem(), HasSubstr("which has no tensor more.weight"));
}

TEST(ExportedModel, SafetensorsAlignTheirValues) {
  const space::Network network = tiny_network();
  const store::WeightsFile weights = tiny_weights();
  const std::string bytes = safetensors_bytes({network, weights, {0}, {1}, {{"run", "a"}}});
  std::uint64_t header = 0;
  std::memcpy(&header, bytes.data(), sizeof header);
  EXPECT_EQ(header % 8, 0);
  EXPECT_EQ(bytes.size(), 8 + header + 10 * sizeof(float));
  EXPECT_THAT(bytes.substr(8, header), HasSubstr("\"linear_1.bias\""));
}

}  // namespace
}  // namespace skyline::model_export
