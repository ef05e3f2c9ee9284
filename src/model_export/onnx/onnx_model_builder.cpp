#include "model_export/onnx/onnx_model_builder.hpp"

#include "skyline/core/error.hpp"

#include "core/text/wording.hpp"

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace skyline::model_export {
namespace {

constexpr const char* kInputName = "input";
constexpr const char* kOutputName = "output";

/// Builds the graph layer by layer.
class FloatModel final : public OnnxModelBuilder {
 public:
  explicit FloatModel(const ExportedModel& model) : OnnxModelBuilder(model), network_(model.network) {}

  std::string build() {
    input_ = normalized_input();
    for (const space::Layer& layer : network_.layers) {
      begin(layer);
      values_.push_back(exported_layer());
    }
    return bytes_with_output(values_.back());
  }

  ExportedValue value(std::size_t input) override {
    return layer().inputs.empty() ? input_ : values_.at(layer().inputs.at(input));
  }

 private:
  const space::Network& network_;
  ExportedValue input_;
  std::vector<ExportedValue> values_;  // outputs of the layers so far
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

OnnxModelBuilder::OnnxModelBuilder(const ExportedModel& model) : model_(model) {
  for (const auto& tensor : model.weights.tensors) tensors_[tensor.name] = tensor.values;
}

void OnnxModelBuilder::begin(const space::Layer& layer) {
  layer_ = &layer;
  prefix_ = layer.name;
}

std::string OnnxModelBuilder::tensor(const std::string& name, const std::vector<std::int64_t>& dims) {
  const std::string full = layer_->name + "." + name;
  const auto spec = std::ranges::find(layer_->tensors, name, &space::TensorSpec::name);
  require(spec != layer_->tensors.end(), "an exported layer has no tensor of that name");
  graph_.add_tensor(full, dims.empty() ? spec->dims : dims, tensors_.at(full));
  return full;
}

std::string OnnxModelBuilder::node(const std::string& op, const std::vector<std::string>& inputs,
                                   const std::vector<OnnxAttribute>& attributes) {
  const std::string output = fresh(op);
  graph_.add_node(output, op, inputs, attributes);
  return output;
}

ExportedValue OnnxModelBuilder::normalized_input() {
  const std::string stored = model_.log_mel ? spectrogram(kInputName, *model_.log_mel) : kInputName;
  begin("normalization");
  const std::vector<std::int64_t> dims{model_.network.input.channels, 1, 1};
  std::string name = stored;
  const auto has_other = [](const std::vector<float>& values, float neutral) {
    return std::ranges::any_of(values, [neutral](float value) { return value != neutral; });
  };
  if (has_other(model_.offset, 0)) name = node("Sub", {name, floats(model_.offset, dims)}, {});
  if (has_other(model_.factor, 1)) name = node("Mul", {name, floats(model_.factor, dims)}, {});
  return {name};
}

std::string OnnxModelBuilder::bytes_with_output(const ExportedValue& value) {
  begin("result");
  std::string result = as_matrix(value);
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
  const space::Shape& shape = model_.network.input;
  const std::vector<std::int64_t> input = model_.log_mel
                                              ? std::vector{model_.log_mel->length}
                                              : std::vector{shape.channels, shape.height, shape.width};
  return graph_.model_bytes({kInputName, input},
                            {kOutputName, {model_.network.layers.back().output.elements()}}, "skyline",
                            model_.metadata);
}

std::string OnnxModelBuilder::as_image(const ExportedValue& value, const space::Shape& shape) {
  if (value.form == ExportedValue::Form::kImage) return value.name;
  std::string& image = images_[value.name];
  if (image.empty()) image = node("Reshape", {value.name, integers({0, shape.channels, 1, 1})}, {});
  return image;
}

std::string OnnxModelBuilder::as_matrix(const ExportedValue& value) {
  if (value.form == ExportedValue::Form::kMatrix) return value.name;
  std::string& matrix = matrices_[value.name];
  if (matrix.empty()) matrix = node("Flatten", {value.name}, {{"axis", std::int64_t{1}}});
  return matrix;
}

std::string OnnxModelBuilder::fresh(const std::string& what) {
  const std::string name = prefix_ + "/" + what;
  const int count = names_[name]++;
  return count == 0 ? name : fresh(what + "_" + std::to_string(count));
}

std::string onnx_bytes(const ExportedModel& model) {
  const std::set<std::string> unknown = kinds_without_export(model.network, Format::kOnnx);
  if (!unknown.empty()) {
    throw UserError("no ONNX for layers of kind " + joined({unknown.begin(), unknown.end()}) +
                    " (register_layer_export)");
  }
  check_size(model.network);
  return FloatModel(model).build();
}

}  // namespace skyline::model_export
