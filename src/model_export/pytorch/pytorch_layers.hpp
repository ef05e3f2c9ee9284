#pragma once

#include "skyline/core/config_node.hpp"
#include "skyline/model_export/layer_export.hpp"

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <string>

namespace skyline::model_export {

/// Export functions by kind of layer.
using PytorchFunctions = std::map<std::string, std::function<ExportedValue(PytorchLayer&)>>;

/// Adds kinds that are functions of their inputs, and perhaps of tensors for which PyTorch has no module.
void add_pytorch_functions(PytorchFunctions& functions);
/// Adds kinds for which PyTorch has a module with the same names of tensors.
void add_pytorch_modules(PytorchFunctions& functions);

// Write values as Python does.
inline std::string python_text(double value) {
  const std::string text = ConfigNode::make_number(value).as_text();
  return text.find_first_of(".e") == std::string::npos ? text + ".0" : text;  // `1` would be an integer
}
inline std::string python_text(bool value) {
  return value ? "True" : "False";
}
inline std::string python_text(const std::array<std::int64_t, 2>& pair) {
  return "(" + std::to_string(pair[0]) + ", " + std::to_string(pair[1]) + ")";
}

}  // namespace skyline::model_export
