#pragma once

#include "skyline/model_export/layer_export.hpp"
#include "skyline/space/network.hpp"

#include "space/quantized/int8_network.hpp"
#include "store/arrays/preparation.hpp"
#include "store/weights/weights.hpp"

#include <array>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace skyline::model_export {

/// What an exported model says about itself: names and values, all as texts.
using Metadata = std::vector<std::pair<std::string, std::string>>;

/// A network to be exported. The referenced objects must outlive it.
struct ExportedModel {
  const space::Network& network;
  const store::WeightsFile& weights;  // may be empty where a format takes no weights
  /// [channels]: the first layers read (value - offset) * factor instead of the stored values; both empty if
  /// they read them unchanged.
  std::vector<float> offset;
  std::vector<float> factor;
  Metadata metadata;
  /// [outputs]: the model gives output * output_factor + output_offset; both empty if it gives them
  /// unchanged.
  std::vector<float> output_factor = {};
  std::vector<float> output_offset = {};
  /// The transform of the targets, which the model undoes after that.
  store::TargetColumn::Transform output_transform = store::TargetColumn::Transform::kNone;
  /// If set, an ONNX model takes a sound, [batch, length] samples from -1 to 1, and makes the stored values.
  std::optional<store::LogMel> log_mel = {};
};

/// kOnnxInt8, kTflite and kC hold the network with whole numbers.
enum class Format { kOnnx, kPytorch, kSafetensors, kOnnxInt8, kTflite, kC };
struct NamedFormat {
  const char* name;
  Format format;
};
inline constexpr std::array kFormats{NamedFormat{"onnx", Format::kOnnx},
                                     NamedFormat{"pytorch", Format::kPytorch},
                                     NamedFormat{"safetensors", Format::kSafetensors},
                                     NamedFormat{"onnx-int8", Format::kOnnxInt8},
                                     NamedFormat{"tflite", Format::kTflite},
                                     NamedFormat{"c", Format::kC}};
constexpr bool is_int8(Format format) {
  return format == Format::kOnnxInt8 || format == Format::kTflite || format == Format::kC;
}

/// Returns the export of a kind, or nullptr if there is none.
const LayerExport* find_layer_export(std::string_view kind);
/// Returns the kinds of layers of the network that cannot be exported in this format.
std::set<std::string> kinds_without_export(const space::Network& network, Format format);

/// Checks that the tensors are those of the network, in its order. @throws UserError
/// @param path  file of the weights, for the message
void check_weights(const ExportedModel& model, const std::filesystem::path& path);

/// Returns an ONNX model with one input [batch, channels, height, width] of stored values as float32, or with
/// sounds (ExportedModel::log_mel), and one output [batch, classes]. @throws UserError if a kind has no
/// export, or the file would be larger than 2 GB
std::string onnx_bytes(const ExportedModel& model);
constexpr int kOnnxOpset = 17;

/// Returns the same for a network with whole numbers: between pairs of QuantizeLinear and DequantizeLinear.
/// @throws UserError if a kind that stays in float32 has no export
std::string onnx_int8_bytes(const ExportedModel& model, const space::Int8Network& int8);

/// Returns a TFLite model of one sample, channels last. It reads the normalized values as int8, and gives
/// int8, or float32 if the network does.
/// @throws UserError, naming the layer, if a step stays in float32 or has no kernel
std::string tflite_bytes(const ExportedModel& model, const space::Int8Network& int8);

/// Sources with a TFLite model for a microcontroller.
struct CSources {
  std::string header;   // name of the model, rules for its input and output
  std::string source;   // the model as an array
  std::string example;  // C++ for TFLite Micro
  std::size_t model_bytes = 0;
};
/// Returns the sources of a model. @throws UserError as tflite_bytes does
/// @param name          a name in C; that of the header and of all that it declares begins with it
/// @param output_names  of classes, labels or numbers
CSources c_sources(const ExportedModel& model, const space::Int8Network& int8, const std::string& name,
                   const std::vector<std::string>& output_names);

/// Returns all tensors as "<layer>.<tensor>", float32.
/// @see https://github.com/huggingface/safetensors
std::string safetensors_bytes(const ExportedModel& model);

/// Returns the source of a PyTorch module that needs no Skyline. @throws UserError if a kind has no export
/// @param weights  name of the safetensors file beside it; empty for a module without weights, which begins
/// as
///                 training does
std::string pytorch_source(const ExportedModel& model, const std::string& weights);

}  // namespace skyline::model_export
