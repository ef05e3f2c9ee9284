// Element-wise functions, and softmax.
#include "model_export/onnx/onnx_layers.hpp"

#include <cmath>

namespace skyline::model_export {
namespace {

using Attributes = std::vector<OnnxAttribute>;

/// One node with one input.
auto node_of(const char* op, const Attributes& attributes = {}) {
  return [op, attributes](OnnxLayer& layer) {
    const ExportedValue input = layer.value();
    return ExportedValue{layer.node(op, {input.name}, attributes), input.form};
  };
}

/// Exports one node with an attribute whose name differs from the layer's.
auto node_with(const char* op, const char* name, const char* attribute) {
  return [=](OnnxLayer& layer) {
    const auto value = static_cast<float>(space::attribute_number(layer.layer(), attribute));
    return node_of(op, {{name, value}})(layer);
  };
}

ExportedValue relu6(OnnxLayer& layer) {
  const ExportedValue input = layer.value();
  return {layer.node("Clip", {input.name, layer.floats({0}, {}), layer.floats({6}, {})}), input.form};
}

/// Computes x / 2 * (1 + erf(x / sqrt(2))), since opset 17 has no node for it.
ExportedValue gelu(OnnxLayer& layer) {
  const ExportedValue input = layer.value();
  const std::string scaled =
      layer.node("Mul", {input.name, layer.floats({static_cast<float>(std::sqrt(0.5))}, {})});
  const std::string sum = layer.node("Add", {layer.node("Erf", {scaled}), layer.floats({1}, {})});
  const std::string half = layer.node("Mul", {input.name, layer.floats({0.5F}, {})});
  return {layer.node("Mul", {half, sum}), input.form};
}

ExportedValue silu(OnnxLayer& layer) {
  const ExportedValue input = layer.value();
  return {layer.node("Mul", {input.name, layer.node("Sigmoid", {input.name})}), input.form};
}

ExportedValue prelu(OnnxLayer& layer) {
  const std::int64_t slopes = layer.layer().tensors.front().elements();
  return {layer.node("PRelu", {layer.image(), layer.tensor("slope", {slopes, 1, 1})})};
}

}  // namespace

void add_activation_nodes(OnnxFunctions& functions) {
  functions["elu"] = node_with("Elu", "alpha", "alpha");
  functions["gelu"] = gelu;
  functions["hard_sigmoid"] = [](OnnxLayer& layer) {
    const ExportedValue input = layer.value();
    return ExportedValue{hard_sigmoid(layer, input.name), input.form};
  };
  functions["hard_swish"] = node_of("HardSwish");
  functions["leaky_relu"] = node_with("LeakyRelu", "alpha", "slope");
  functions["prelu"] = prelu;
  functions["relu"] = node_of("Relu");
  functions["relu6"] = relu6;
  functions["sigmoid"] = node_of("Sigmoid");
  functions["silu"] = silu;
  functions["softmax"] = node_of("Softmax", {{"axis", std::int64_t{1}}});
  functions["tanh"] = node_of("Tanh");
}

}  // namespace skyline::model_export
