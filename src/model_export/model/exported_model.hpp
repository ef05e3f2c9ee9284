#pragma once

#include "skyline/model_export/layer_export.hpp"
#include "skyline/space/network.hpp"

#include "store/weights/weights.hpp"

#include <filesystem>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace skyline::model_export {

/// A trained network as it leaves Skyline. References outlive the object.
struct ExportedModel {
  const space::Network& network;
  const store::WeightsFile& weights;
  /// [channels]: the first layers read (value - offset) * factor of stored values.
  std::vector<float> offset;
  std::vector<float> factor;
  std::vector<std::pair<std::string, std::string>> metadata;  // names and values, all of them texts
};

enum class Format { kOnnx, kPytorch, kSafetensors };

/// nullptr if the kind is not known.
const LayerExport* find_layer_export(std::string_view kind);
/// The kinds of layers of the network that cannot be exported in this format.
std::set<std::string> kinds_without_export(const space::Network& network, Format format);

/// Checks that the tensors are those of the network, in its order.
/// @param path  of the weights, for the message. @throws UserError
void check_weights(const ExportedModel& model, const std::filesystem::path& path);

/// An ONNX model: one input [batch, channels, height, width] of stored values as float32, one output [batch,
/// classes]. @throws UserError if a kind has no export, or the file would have more than 2 GB
std::string onnx_bytes(const ExportedModel& model);
constexpr int kOnnxOpset = 17;

/// All tensors as "<layer>.<tensor>", float32.
/// @see https://github.com/huggingface/safetensors
std::string safetensors_bytes(const ExportedModel& model);

/// The source of a module for PyTorch, which needs nothing else. @throws UserError if a kind has no export
/// @param weights  name of the safetensors file beside it
std::string pytorch_source(const ExportedModel& model, const std::string& weights);

}  // namespace skyline::model_export
