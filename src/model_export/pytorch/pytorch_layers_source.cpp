// A network as the source of a PyTorch module.
#include "skyline/core/error.hpp"

#include "core/config/config_text.hpp"
#include "core/text/wording.hpp"
#include "model_export/model/exported_model.hpp"
#include "model_export/pytorch/pytorch_layers.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace skyline::model_export {
namespace {

constexpr const char* kImportsOfLoading = R"(
import json
import math
import pathlib
import struct
)";

constexpr const char* kImports = R"(
import torch
from torch import nn
from torch.nn import functional as F
)";

constexpr const char* kParameters = R"(
class Parameters(nn.Module):
    """Tensors of a layer that has no module of its own: shapes, and functions that fill them before training."""
    def __init__(self, **tensors):
        super().__init__()
        for name, (shape, fill) in tensors.items():
            self.register_parameter(name, nn.Parameter(fill(torch.empty(shape))))
)";

constexpr const char* kLoading = R"(
def read_safetensors(path):
    """The tensors of a file by name; nothing in it is executed."""
    with open(path, "rb") as file:
        header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
        values = bytearray(file.read())
    header.pop("__metadata__", None)
    return {name: torch.frombuffer(values, dtype=torch.float32, count=math.prod(tensor["shape"]),
                                   offset=tensor["data_offsets"][0]).reshape(tensor["shape"])
            for name, tensor in header.items()}


def load(path=pathlib.Path(__file__).with_name(WEIGHTS)):
    """The trained network, in evaluation mode."""
    network = Network()
    counters = {name: value for name, value in network.state_dict().items()
                if name.endswith(".num_batches_tracked")}
    network.load_state_dict({**counters, **read_safetensors(path)})
    return network.eval()
)";

/// Returns a text as a Python literal; JSON writes it in the same way.
std::string literal(const std::string& text) {
  std::string json = to_json(ConfigNode::make_scalar(text, {}, true));
  json.pop_back();  // removes the end of the line
  return json;
}

/// Returns a Python function that fills a tensor as training does before its first step.
std::string filling(const space::TensorSpec& spec) {
  using space::Initializer;
  switch (spec.initializer) {
    case Initializer::kZeros:
      return "nn.init.zeros_";
    case Initializer::kOnes:
      return "nn.init.ones_";
    case Initializer::kQuarters:
      return "lambda values: nn.init.constant_(values, 0.25)";
    case Initializer::kXavierUniform:
      return "nn.init.xavier_uniform_";
    case Initializer::kNarrowNormal:
      return "lambda values: nn.init.trunc_normal_(values, std=0.02)";
    case Initializer::kKaimingUniform:
      break;
  }
  const std::string bound = python_text(1 / std::sqrt(static_cast<double>(spec.fan_in)));
  return "lambda values: nn.init.uniform_(values, -" + bound + ", " + bound + ")";
}

class SourceBuilder final : public PytorchLayer {
 public:
  /// @param weights  name of their file; empty for an untrained network
  SourceBuilder(const ExportedModel& model, std::string weights)
      : model_(model), weights_(std::move(weights)) {
    for (const space::Layer& layer : model_.network.layers) {
      layer_ = &layer;
      const ExportedValue made = find_layer_export(layer.kind)->pytorch(*this);
      forward_ += "        " + layer.name + " = " + made.name + "\n";
      values_.push_back({layer.name, made.form});
    }
  }

  std::string source() const {
    if (weights_.empty()) {
      return "\"\"\"A network of a space of Skyline's, untrained: METADATA says which. `Network()` makes "
             "it.\"\"\"" +
             std::string(kImports) + "\n" + metadata() + definitions() + network_class();
    }
    return "\"\"\"A network that Skyline has found: METADATA says which. `load()` returns it.\"\"\"" +
           std::string(kImportsOfLoading) + kImports + "\nWEIGHTS = " + literal(weights_) + "\n" +
           metadata() + definitions() + network_class() + "\n" + kLoading;
  }

  const space::Layer& layer() const override { return *layer_; }
  ExportedValue value(std::size_t input) override {
    return layer_->inputs.empty() ? ExportedValue{"x"} : values_.at(layer_->inputs.at(input));
  }
  std::string image(std::size_t input) override {
    const ExportedValue read = value(input);
    return read.form == ExportedValue::Form::kImage ? read.name : read.name + "[:, :, None, None]";
  }
  std::string matrix(std::size_t input) override { return as_matrix(value(input)); }

  std::string module(const std::string& constructor) override {
    modules_ += "        self." + layer_->name + " = " + constructor + "\n";
    return "self." + layer_->name;
  }
  std::string parameters() override {
    define(kParameters);
    std::string tensors;
    for (const space::TensorSpec& spec : layer_->tensors) {
      tensors += (tensors.empty() ? "" : ", ") + spec.name + "=((";
      for (const std::int64_t dim : spec.dims) tensors += std::to_string(dim) + ", ";
      tensors += "), " + filling(spec) + ")";
    }
    return module("Parameters(" + tensors + ")");
  }
  void define(const std::string& source) override {
    if (std::ranges::find(definitions_, source) == definitions_.end()) definitions_.push_back(source);
  }

 private:
  static std::string as_matrix(const ExportedValue& value) {
    return value.form == ExportedValue::Form::kMatrix ? value.name : value.name + ".flatten(1)";
  }

  std::string metadata() const {
    std::string text = "METADATA = {\n";
    for (const auto& [name, value] : model_.metadata) {
      text += "    " + literal(name) + ": " + literal(value) + ",\n";
    }
    return text + "}\n";
  }

  std::string definitions() const {
    std::string text;
    for (const std::string& definition : definitions_) text += "\n" + definition;
    return text + "\n\n";
  }

  /// Returns a line that registers a buffer which is not among the weights.
  static std::string buffer(const std::string& name, const std::vector<float>& values,
                            const std::string& reshaped) {
    std::string text;
    for (const float value : values)
      text += (text.empty() ? "" : ", ") + python_text(static_cast<double>(value));
    return "        self.register_buffer(\"" + name + "\", torch.tensor([" + text + "])" + reshaped +
           ", persistent=False)\n";
  }

  std::string network_class() const {
    const space::Shape& shape = model_.network.input;
    const std::string per_channel = ".reshape(-1, 1, 1)";
    const std::string result = as_matrix(values_.back());
    const bool scales_input = !model_.factor.empty();
    const bool scales_output = !model_.output_factor.empty();
    std::string buffers;
    if (scales_input) {
      buffers = buffer("offset", model_.offset, per_channel) + buffer("factor", model_.factor, per_channel);
    }
    if (scales_output) {
      buffers += buffer("output_factor", model_.output_factor, "") +
                 buffer("output_offset", model_.output_offset, "");
    }
    return "class Network(nn.Module):\n"
           "    def __init__(self):\n"
           "        super().__init__()\n" +
           buffers + modules_ +
           "\n    def forward(self, values):\n"
           "        \"\"\"@param values  " +
           std::string(scales_input ? "as the data set has them, " : "") + "float32 [batch, " +
           std::to_string(shape.channels) + ", " + std::to_string(shape.height) + ", " +
           std::to_string(shape.width) +
           "]\"\"\"\n"
           "        x = " +
           (scales_input ? "(values - self.offset) * self.factor" : "values") + "\n" + forward_ +
           "        return " +
           undone(scales_output ? result + " * self.output_factor + self.output_offset" : result) + "\n";
  }

  /// Returns an expression of the numbers, from one of their transforms.
  std::string undone(const std::string& transformed) const {
    using Transform = store::TargetColumn::Transform;
    if (model_.output_transform == Transform::kNone) return transformed;
    const bool is_log = model_.output_transform == Transform::kLog;
    return std::string(is_log ? "torch.exp(" : "torch.expm1(") + transformed + ")";
  }

  const ExportedModel& model_;
  const std::string weights_;
  const space::Layer* layer_ = nullptr;
  std::vector<ExportedValue> values_;  // outputs of the layers so far
  std::vector<std::string> definitions_;
  std::string modules_;
  std::string forward_;
};

}  // namespace

std::string pytorch_source(const ExportedModel& model, const std::string& weights) {
  const std::set<std::string> unknown = kinds_without_export(model.network, Format::kPytorch);
  if (!unknown.empty()) {
    throw UserError("no PyTorch for layers of kind " + joined({unknown.begin(), unknown.end()}) +
                    " (register_layer_export)");
  }
  return SourceBuilder(model, weights).source();
}

}  // namespace skyline::model_export
