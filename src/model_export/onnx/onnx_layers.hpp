#pragma once

#include "skyline/model_export/layer_export.hpp"
#include "skyline/space/window.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace skyline::model_export {

/// Export functions by kind of layer.
using OnnxFunctions = std::map<std::string, std::function<ExportedValue(OnnxLayer&)>>;

void add_activation_nodes(OnnxFunctions& functions);
void add_attention_nodes(OnnxFunctions& functions);
void add_convolution_nodes(OnnxFunctions& functions);
void add_merge_nodes(OnnxFunctions& functions);
void add_norm_nodes(OnnxFunctions& functions);
void add_pool_nodes(OnnxFunctions& functions);

/// Returns what convolutions and pools say of their window.
inline std::vector<OnnxAttribute> window_attributes(const space::Window& window) {
  using Dims = std::vector<std::int64_t>;
  const auto& [rows, columns] = window.padding;
  return {{"kernel_shape", Dims(window.kernel.begin(), window.kernel.end())},
          {"strides", Dims(window.stride.begin(), window.stride.end())},
          {"pads", Dims{rows, columns, rows, columns}}};
}

/// Returns the attributes of a convolution.
inline std::vector<OnnxAttribute> convolution_attributes(const space::Window& window, std::int64_t groups) {
  std::vector<OnnxAttribute> attributes = window_attributes(window);
  attributes.push_back(
      {"dilations", std::vector<std::int64_t>(window.dilation.begin(), window.dilation.end())});
  attributes.push_back({"group", groups});
  return attributes;
}

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
