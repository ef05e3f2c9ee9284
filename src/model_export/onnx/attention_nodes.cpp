#include "model_export/onnx/onnx_layers.hpp"

#include <cmath>

namespace skyline::model_export {
namespace {

using Dims = std::vector<std::int64_t>;

ExportedValue patch_embedding(OnnxLayer& layer) {
  const space::Layer& own = layer.layer();
  const Dims& dims = own.tensors.front().dims;
  const Dims patch{dims[2], dims[3]};
  const std::string patches =
      layer.node("Conv", {layer.image(), layer.tensor("weight"), layer.tensor("bias")},
                 {{"kernel_shape", patch}, {"strides", patch}});
  const Dims tokens{own.output.channels, 1, own.output.width};
  const std::string sequence =
      layer.node("Reshape", {patches, layer.integers({0, tokens[0], tokens[1], tokens[2]})});
  if (!space::attribute_flag(own, "position")) return {sequence};
  return {layer.node("Add", {sequence, layer.tensor("position", tokens)})};
}

/// Multiplies [batch, tokens, channels] by a weight, and adds the trained constants if there are any.
std::string product(OnnxLayer& layer, const std::string& tokens, const std::string& part) {
  const std::string weight = layer.node("Transpose", {layer.tensor(part + "weight")}, {{"perm", Dims{1, 0}}});
  const std::string made = layer.node("MatMul", {tokens, weight});
  if (!space::attribute_flag(layer.layer(), "bias")) return made;
  return layer.node("Add", {made, layer.tensor(part + "bias")});
}

ExportedValue self_attention(OnnxLayer& layer) {
  const space::Layer& own = layer.layer();
  const std::int64_t channels = own.input().channels;
  const std::int64_t length = own.input().width;
  const std::int64_t heads = space::attribute_integer(own, "heads");
  const std::string flat = layer.node("Reshape", {layer.image(), layer.integers({0, channels, length})});
  const std::string tokens = layer.node("Transpose", {flat}, {{"perm", Dims{0, 2, 1}}});
  const std::string split = layer.integers({0, length, heads, channels / heads});
  const auto part = [&](const std::string& name, const Dims& order) {
    const std::string by_head = layer.node("Reshape", {product(layer, tokens, name), split});
    return layer.node("Transpose", {by_head}, {{"perm", order}});
  };
  const auto scale = static_cast<float>(1 / std::sqrt(static_cast<double>(channels / heads)));
  const std::string query = layer.node("Mul", {part("query_", {0, 2, 1, 3}), layer.floats({scale}, {})});
  const std::string scores = layer.node("MatMul", {query, part("key_", {0, 2, 3, 1})});
  const std::string shares = layer.node("Softmax", {scores}, {{"axis", std::int64_t{-1}}});
  const std::string mixed = layer.node("MatMul", {shares, part("value_", {0, 2, 1, 3})});
  const std::string joined =
      layer.node("Reshape", {layer.node("Transpose", {mixed}, {{"perm", Dims{0, 2, 1, 3}}}),
                             layer.integers({0, length, channels})});
  const std::string result = layer.node("Transpose", {product(layer, joined, "")}, {{"perm", Dims{0, 2, 1}}});
  return {layer.node("Reshape", {result, layer.integers({0, channels, 1, length})})};
}

/// Products with one place per channel are written as convolutions with kernel 1.
ExportedValue squeeze_excitation(OnnxLayer& layer) {
  const std::int64_t channels = layer.layer().input().channels;
  const std::int64_t squeezed = layer.layer().tensors.front().dims.front();
  const std::string means = layer.node("GlobalAveragePool", {layer.image()});
  const std::string reduced = layer.node(
      "Relu", {layer.node("Conv", {means, layer.tensor("reduce_weight", {squeezed, channels, 1, 1}),
                                   layer.tensor("reduce_bias")})});
  const std::string expanded = layer.node(
      "Conv",
      {reduced, layer.tensor("expand_weight", {channels, squeezed, 1, 1}), layer.tensor("expand_bias")});
  const std::string gates = space::attribute_flag(layer.layer(), "hard") ? hard_sigmoid(layer, expanded)
                                                                         : layer.node("Sigmoid", {expanded});
  return {layer.node("Mul", {layer.image(), gates})};
}

}  // namespace

void add_attention_nodes(OnnxFunctions& functions) {
  functions["multi_head_self_attention"] = self_attention;
  functions["patch_embedding"] = patch_embedding;
  functions["squeeze_excitation"] = squeeze_excitation;
}

}  // namespace skyline::model_export
