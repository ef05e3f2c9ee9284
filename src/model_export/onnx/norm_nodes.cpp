#include "model_export/onnx/onnx_layers.hpp"

namespace skyline::model_export {
namespace {

float epsilon_of(const OnnxLayer& layer) {
  return static_cast<float>(space::attribute_number(layer.layer(), "epsilon"));
}

ExportedValue batch_norm(OnnxLayer& layer) {
  const ExportedValue input = layer.value();
  return {layer.node("BatchNormalization",
                     {input.name, layer.tensor("weight"), layer.tensor("bias"), layer.tensor("running_mean"),
                      layer.tensor("running_var")},
                     {{"epsilon", epsilon_of(layer)}}),
          input.form};
}

/// Normalizes over the channels of each place; ONNX's own node normalizes over the last dimensions.
ExportedValue layer_norm(OnnxLayer& layer) {
  const std::string input = layer.image();
  const std::vector<OnnxAttribute> channels{{"axes", std::vector<std::int64_t>{1}}};
  const std::string centred = layer.node("Sub", {input, layer.node("ReduceMean", {input}, channels)});
  const std::string variance = layer.node("ReduceMean", {layer.node("Mul", {centred, centred})}, channels);
  const std::string deviation =
      layer.node("Sqrt", {layer.node("Add", {variance, layer.floats({epsilon_of(layer)}, {})})});
  return {scaled_and_shifted(layer, layer.node("Div", {centred, deviation}))};
}

/// Gives each channel of a sample mean 0 and variance 1.
std::string normalized(OnnxLayer& layer, const std::string& image, std::int64_t channels) {
  const auto count = static_cast<std::size_t>(channels);
  return layer.node("InstanceNormalization",
                    {image, layer.floats(std::vector<float>(count, 1.0F), {channels}),
                     layer.floats(std::vector<float>(count, 0.0F), {channels})},
                    {{"epsilon", epsilon_of(layer)}});
}

/// Treats a group as one long channel.
ExportedValue group_norm(OnnxLayer& layer) {
  const space::Shape& shape = layer.layer().input();
  const std::int64_t groups = space::attribute_integer(layer.layer(), "groups");
  const std::int64_t size = shape.elements() / groups;  // no -1, because a batch of 0 leaves it open
  const std::string parts = layer.node("Reshape", {layer.image(), layer.integers({0, groups, size})});
  const std::string image = layer.node(
      "Reshape",
      {normalized(layer, parts, groups), layer.integers({0, shape.channels, shape.height, shape.width})});
  return {scaled_and_shifted(layer, image)};
}

ExportedValue instance_norm(OnnxLayer& layer) {
  const std::string image = normalized(layer, layer.image(), layer.layer().input().channels);
  return {space::attribute_flag(layer.layer(), "affine") ? scaled_and_shifted(layer, image) : image};
}

}  // namespace

void add_norm_nodes(OnnxFunctions& functions) {
  functions["batch_norm"] = batch_norm;
  functions["group_norm"] = group_norm;
  functions["instance_norm"] = instance_norm;
  functions["layer_norm"] = layer_norm;
}

}  // namespace skyline::model_export
