#pragma once

#include "skyline/space/network.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace skyline::model_export {

/// A value between exported layers.
struct ExportedValue {
  /// kMatrix is [batch, features], for layers whose output has height and width 1.
  enum class Form { kImage, kMatrix };
  std::string name;  // a name in ONNX, an expression in PyTorch
  Form form = Form::kImage;
};

struct OnnxAttribute {
  std::string name;
  std::variant<std::int64_t, float, std::vector<std::int64_t>> value;
};

/// A layer of a network that is being exported to another program, in its form for inference.
class ExportedLayer {
 public:
  virtual ~ExportedLayer() = default;
  virtual const space::Layer& layer() const = 0;
  /// Returns the layer's input in either form, for functions of each value alone.
  virtual ExportedValue value(std::size_t input = 0) = 0;
  /// Returns the name of the input as [batch, channels, height, width].
  virtual std::string image(std::size_t input = 0) = 0;
  /// Returns the name of the input as [batch, elements].
  virtual std::string matrix(std::size_t input = 0) = 0;
  /// Returns all inputs: unchanged if they have one form, else as images.
  std::vector<ExportedValue> values_in_one_form();
};

/// A layer that is being exported to an ONNX graph (opset 17).
class OnnxLayer : public ExportedLayer {
 public:
  /// Returns the name of a tensor of the layer. @throws InternalError if there is none
  /// @param dims  another shape with the same number of elements; empty for its own shape
  virtual std::string tensor(const std::string& name, const std::vector<std::int64_t>& dims = {}) = 0;
  /// Add constants and return their names.
  /// @param dims  empty for a scalar
  virtual std::string floats(const std::vector<float>& values, const std::vector<std::int64_t>& dims) = 0;
  virtual std::string integers(const std::vector<std::int64_t>& values) = 0;
  /// Adds a node with one output. Returns the output's name.
  virtual std::string node(const std::string& op, const std::vector<std::string>& inputs,
                           const std::vector<OnnxAttribute>& attributes = {}) = 0;
};

/// A layer that is being exported to the source of a PyTorch module. Its functions return Python expressions.
class PytorchLayer : public ExportedLayer {
 public:
  /// Gives the layer a module whose parameters have the names of the layer's tensors. Returns the module.
  /// @param constructor  e.g. "nn.Conv2d(16, 32, 3)"
  virtual std::string module(const std::string& constructor) = 0;
  /// Returns a module with the layer's tensors as attributes, for layers for which PyTorch has no module.
  virtual std::string parameters() = 0;
  /// Adds a definition that expressions use. The source has it once for all layers.
  virtual void define(const std::string& source) = 0;
};

/// The functions that export a kind of layer. They return the layer's output; any thread may call them.
struct LayerExport {
  std::function<ExportedValue(OnnxLayer&)> onnx = {};
  std::function<ExportedValue(PytorchLayer&)> pytorch = {};  // may be empty
};

/// Adds the export of a kind; call it before run_program. @throws InternalError if the kind has one
void register_layer_export(std::string_view kind, LayerExport functions);

}  // namespace skyline::model_export
