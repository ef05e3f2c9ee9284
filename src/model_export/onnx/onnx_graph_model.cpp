// A network as an ONNX model.
#include "skyline/core/error.hpp"

#include "core/text/wording.hpp"
#include "model_export/model/exported_model.hpp"
#include "model_export/onnx/onnx_graph.hpp"

#include <deque>
#include <map>

namespace skyline::model_export {
namespace {

constexpr const char* kInputName = "input";
constexpr const char* kOutputName = "output";

/// Builds the graph layer by layer.
class ModelBuilder final : public OnnxLayer {
 public:
  explicit ModelBuilder(const ExportedModel& model) : model_(model) {
    for (const auto& tensor : model.weights.tensors) tensors_[tensor.name] = tensor.values;
  }

  std::string build() {
    input_ = {scaled_input()};
    for (const space::Layer& layer : model_.network.layers) {
      layer_ = &layer;
      prefix_ = layer.name;
      const ExportedValue made = find_layer_export(layer.kind)->onnx(*this);
      values_.push_back(made);
    }
    finish();
    const space::Shape& shape = model_.network.input;
    return graph_.model_bytes({kInputName, {shape.channels, shape.height, shape.width}},
                              {kOutputName, {model_.network.layers.back().output.elements()}}, "skyline",
                              model_.metadata);
  }

  const space::Layer& layer() const override { return *layer_; }
  ExportedValue value(std::size_t input) override {
    return layer_->inputs.empty() ? input_ : values_.at(layer_->inputs.at(input));
  }
  std::string image(std::size_t input) override {
    return as_image(value(input), layer_->input_shapes.at(input));
  }
  std::string matrix(std::size_t input) override { return as_matrix(value(input)); }

  std::string tensor(const std::string& name, const std::vector<std::int64_t>& dims) override {
    const std::string full = layer_->name + "." + name;
    const auto spec = std::ranges::find(layer_->tensors, name, &space::TensorSpec::name);
    require(spec != layer_->tensors.end(), "an exported layer has no tensor of that name");
    graph_.add_floats(full, dims.empty() ? spec->dims : dims, tensors_.at(full));
    return full;
  }
  std::string floats(const std::vector<float>& values, const std::vector<std::int64_t>& dims) override {
    const std::string name = fresh("constant");
    graph_.add_floats(name, dims, constants_.emplace_back(values));
    return name;
  }
  std::string integers(const std::vector<std::int64_t>& values) override {
    const std::string name = fresh("integers");
    graph_.add_integers(name, values);
    return name;
  }
  std::string node(const std::string& op, const std::vector<std::string>& inputs,
                   const std::vector<OnnxAttribute>& attributes) override {
    const std::string output = fresh(op);
    graph_.add_node(output, op, inputs, attributes);
    return output;
  }

 private:
  std::string scaled_input() {
    prefix_ = "normalization";
    const std::vector<std::int64_t> dims{model_.network.input.channels, 1, 1};
    std::string name = kInputName;
    const auto has_other = [](const std::vector<float>& values, float neutral) {
      return std::ranges::any_of(values, [neutral](float value) { return value != neutral; });
    };
    if (has_other(model_.offset, 0)) name = node("Sub", {name, floats(model_.offset, dims)}, {});
    if (has_other(model_.factor, 1)) name = node("Mul", {name, floats(model_.factor, dims)}, {});
    return name;
  }

  /// Renames the last layer's output to the model's output.
  void finish() {
    prefix_ = "result";
    std::string result = as_matrix(values_.back());
    if (!model_.output_factor.empty()) {
      const std::vector<std::int64_t> dims{std::ssize(model_.output_factor)};
      result = node("Mul", {result, floats(model_.output_factor, dims)}, {});
      result = node("Add", {result, floats(model_.output_offset, dims)}, {});
    }
    using Transform = store::TargetColumn::Transform;
    if (model_.output_transform != Transform::kNone) result = node("Exp", {result}, {});
    if (model_.output_transform == Transform::kLog1p) result = node("Sub", {result, floats({1}, {1})}, {});
    if (names_.contains(result)) {
      graph_.rename(result, kOutputName);
    } else {
      graph_.add_node(kOutputName, "Identity", {result}, {});
    }
  }

  std::string as_image(const ExportedValue& value, const space::Shape& shape) {
    if (value.form == ExportedValue::Form::kImage) return value.name;
    std::string& image = images_[value.name];
    if (image.empty()) image = node("Reshape", {value.name, integers({0, shape.channels, 1, 1})}, {});
    return image;
  }
  std::string as_matrix(const ExportedValue& value) {
    if (value.form == ExportedValue::Form::kMatrix) return value.name;
    std::string& matrix = matrices_[value.name];
    if (matrix.empty()) matrix = node("Flatten", {value.name}, {{"axis", std::int64_t{1}}});
    return matrix;
  }

  /// Returns a new name for something of the layer, e.g. "conv2d_0/Conv".
  std::string fresh(const std::string& what) {
    const std::string name = prefix_ + "/" + what;
    const int count = names_[name]++;
    return count == 0 ? name : fresh(what + "_" + std::to_string(count));
  }

  const ExportedModel& model_;
  std::map<std::string, std::span<const float>> tensors_;
  std::deque<std::vector<float>> constants_;  // constants; the graph refers to them
  OnnxGraph graph_;
  ExportedValue input_;
  std::vector<ExportedValue> values_;  // outputs of the layers so far
  std::map<std::string, std::string> images_;
  std::map<std::string, std::string> matrices_;
  const space::Layer* layer_ = nullptr;
  std::string prefix_;
  std::map<std::string, int> names_;
};

/// Checks the size: a protocol buffers message has at most 2^31 - 1 bytes. The graph itself is small.
void check_size(const space::Network& network) {
  constexpr std::int64_t kMostWeights = (std::int64_t{1} << 31) - (std::int64_t{1} << 24);
  if (network.cost.weight_bytes <= kMostWeights) return;
  throw UserError("an ONNX file has at most 2 GB, and the weights have " +
                  std::to_string(network.cost.weight_bytes >> 20) +
                  " MiB: export them as safetensors or pytorch");
}

}  // namespace

std::string onnx_bytes(const ExportedModel& model) {
  const std::set<std::string> unknown = kinds_without_export(model.network, Format::kOnnx);
  if (!unknown.empty()) {
    throw UserError("no ONNX for layers of kind " + joined({unknown.begin(), unknown.end()}) +
                    " (register_layer_export)");
  }
  check_size(model.network);
  return ModelBuilder(model).build();
}

}  // namespace skyline::model_export
