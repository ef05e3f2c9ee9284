// Products with weights: convolutions and linear layers.
#include "model_export/onnx/onnx_layers.hpp"

namespace skyline::model_export {
namespace {

using Dims = std::vector<std::int64_t>;

bool has_bias(const space::Layer& layer) {
  return space::attribute_flag(layer, "bias");
}

/// A convolution over an image, or along a sequence, which is an image of height 1.
ExportedValue convolution(OnnxLayer& layer) {
  const space::Layer& own = layer.layer();
  Dims dims = own.tensors.front().dims;
  const bool along_width = dims.size() == 3;
  if (along_width) dims.insert(dims.begin() + 2, 1);
  std::vector<std::string> inputs{layer.image(), layer.tensor("weight", dims)};
  if (has_bias(own)) inputs.push_back(layer.tensor("bias"));
  const std::int64_t groups = own.input().channels / dims[1];
  return {layer.node("Conv", inputs, convolution_attributes(space::Window::of(own, along_width), groups))};
}

ExportedValue separable(OnnxLayer& layer) {
  const space::Layer& own = layer.layer();
  const std::string by_channel =
      layer.node("Conv", {layer.image(), layer.tensor("depthwise_weight")},
                 convolution_attributes(space::Window::of(own, false), own.input().channels));
  std::vector<std::string> inputs{by_channel, layer.tensor("weight")};
  if (has_bias(own)) inputs.push_back(layer.tensor("bias"));
  return {layer.node("Conv", inputs)};
}

ExportedValue linear(OnnxLayer& layer) {
  std::vector<std::string> inputs{layer.matrix(), layer.tensor("weight")};
  if (has_bias(layer.layer())) inputs.push_back(layer.tensor("bias"));
  return {layer.node("Gemm", inputs, {{"transB", std::int64_t{1}}}), ExportedValue::Form::kMatrix};
}

}  // namespace

void add_convolution_nodes(OnnxFunctions& functions) {
  functions["conv1d"] = convolution;
  functions["conv2d"] = convolution;
  functions["depthwise_conv2d"] = convolution;
  functions["linear"] = linear;
  functions["separable_conv2d"] = separable;
}

}  // namespace skyline::model_export
