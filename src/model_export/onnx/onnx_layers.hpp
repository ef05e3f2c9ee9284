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

/// Multiplies by the tensor `weight` and adds `bias`, each one value per channel of an image.
inline std::string scaled_and_shifted(OnnxLayer& layer, const std::string& image) {
  const std::vector<std::int64_t> dims{layer.layer().output.channels, 1, 1};
  const std::string scaled = layer.node("Mul", {image, layer.tensor("weight", dims)});
  return layer.node("Add", {scaled, layer.tensor("bias", dims)});
}

}  // namespace skyline::model_export
