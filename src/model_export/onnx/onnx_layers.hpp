#pragma once

#include "skyline/model_export/layer_export.hpp"

#include <functional>
#include <map>
#include <string>

namespace skyline::model_export {

/// Export functions by kind of layer.
using OnnxFunctions = std::map<std::string, std::function<ExportedValue(OnnxLayer&)>>;

void add_activation_nodes(OnnxFunctions& functions);
void add_attention_nodes(OnnxFunctions& functions);
void add_convolution_nodes(OnnxFunctions& functions);
void add_merge_nodes(OnnxFunctions& functions);
void add_norm_nodes(OnnxFunctions& functions);
void add_pool_nodes(OnnxFunctions& functions);

/// Computes hard_sigmoid without its own node: OpenCV takes that, and a product after it, for a hard swish.
inline std::string hard_sigmoid(OnnxLayer& layer, const std::string& input) {
  const std::string scaled = layer.node("Mul", {input, layer.floats({1.0F / 6.0F}, {})});
  const std::string shifted = layer.node("Add", {scaled, layer.floats({0.5F}, {})});
  return layer.node("Clip", {shifted, layer.floats({0}, {}), layer.floats({1}, {})});
}

/// Multiplies by the tensor `weight` and adds `bias`, each one value per channel of an image.
inline std::string scaled_and_shifted(OnnxLayer& layer, const std::string& image) {
  const std::vector<std::int64_t> dims{layer.layer().output.channels, 1, 1};
  const std::string scaled = layer.node("Mul", {image, layer.tensor("weight", dims)});
  return layer.node("Add", {scaled, layer.tensor("bias", dims)});
}

}  // namespace skyline::model_export
