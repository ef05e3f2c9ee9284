// An int8 network as an ONNX model: each tensor passes a pair of QuantizeLinear and DequantizeLinear nodes,
// by which runtimes find what they compute with whole numbers.
#include "skyline/core/error.hpp"

#include "model_export/onnx/onnx_layers.hpp"
#include "model_export/onnx/onnx_model_builder.hpp"
#include "space/quantized/int8_network.hpp"

#include <algorithm>
#include <limits>

namespace skyline::model_export {
namespace {

using Dims = std::vector<std::int64_t>;
using space::Int8Grid;
using space::Int8Op;
using space::Int8Step;

/// Builds the graph step by step. All values between steps are images.
class Int8Model final : public OnnxModelBuilder {
 public:
  Int8Model(const ExportedModel& model, const space::Int8Network& int8)
      : OnnxModelBuilder(model), network_(model.network), int8_(int8), values_(int8.view.tensors.size()) {}

  std::string build() {
    keep(0, normalized_input());
    for (std::size_t i = 0; i < int8_.view.steps.size(); ++i) {
      step_ = &int8_.view.steps[i];
      begin(network_.layers.at(step_->layer));
      ExportedValue made = made_by(int8_.weights.at(i));
      made.name = limited(made.name);
      keep(step_->output, made);
    }
    return bytes_with_output({values_.at(int8_.view.output)});
  }

  /// A step that has no inputs takes the size of the batch from the network's input.
  ExportedValue value(std::size_t input) override {
    return {values_.at(step_->inputs.empty() ? 0 : step_->inputs.at(input))};
  }

 private:
  /// Makes a value that of a tensor, on its grid if it has one.
  void keep(space::Int8Tensor tensor, const ExportedValue& value) {
    const std::string name = as_image(value, int8_.view.tensors.at(tensor));
    const std::optional<Int8Grid>& grid = int8_.grids.at(tensor);
    values_.at(tensor) = grid ? on_grid(name, *grid) : name;
  }

  std::string on_grid(const std::string& value, const Int8Grid& grid) {
    const std::string scale = constant("scale", {}, std::vector{grid.scale});
    const std::string zero = constant("zero", {}, std::vector{static_cast<std::int8_t>(grid.zero)});
    const std::string whole = node("QuantizeLinear", {value, scale, zero}, {});
    return node("DequantizeLinear", {whole, scale, zero}, {});
  }

  ExportedValue made_by(const space::Int8Weights& weights) {
    switch (step_->op) {
      case Int8Op::kConvolution:
        return convolution(weights);
      case Int8Op::kAttention:
        return attention();
      case Int8Op::kLayer:
      case Int8Op::kZeros:
        return exported_layer();
      case Int8Op::kClamp:
        return value(0);
      case Int8Op::kView: {
        const space::Shape& shape = int8_.view.tensors.at(step_->output);
        return {
            node("Reshape", {value(0).name, integers({0, shape.channels, shape.height, shape.width})}, {})};
      }
      case Int8Op::kHardSigmoid:
        return {hard_sigmoid(*this, value(0).name)};
      default:
        return {one_node()};
    }
  }

  std::string one_node() {
    std::vector<std::string> inputs;
    for (const space::Int8Tensor input : step_->inputs) inputs.push_back(values_.at(input));
    const OnnxAttribute over_channels{"axis", std::int64_t{1}};
    switch (step_->op) {
      case Int8Op::kAdd:
        return node("Add", inputs, {});
      case Int8Op::kMultiply:
        return node("Mul", inputs, {});
      case Int8Op::kConcat:
        return node("Concat", inputs, {over_channels});
      case Int8Op::kMaxPool:
        return node("MaxPool", inputs, window_attributes(step_->window));
      case Int8Op::kAveragePool:
        return node("AveragePool", inputs, window_attributes(step_->window));
      case Int8Op::kMean:
        return node("GlobalAveragePool", inputs, {});
      case Int8Op::kMaximum:
        return node("GlobalMaxPool", inputs, {});
      case Int8Op::kSigmoid:
        return node("Sigmoid", inputs, {});
      case Int8Op::kHardSwish:
        return node("HardSwish", inputs, {});
      case Int8Op::kTanh:
        return node("Tanh", inputs, {});
      case Int8Op::kSoftmax:
        return below_one(node("Softmax", inputs, {over_channels}));
      default:
        throw InternalError("an int8 step without a node");
    }
  }

  /// Limits shares to what is rounded to 255 / 256, the largest number of their grid, if they have one.
  /// Without that ONNX Runtime 1.24 takes a kernel of its own, which turns 1 into 0.
  std::string below_one(const std::string& shares) {
    if (!int8_.grids.at(step_->output)) return shares;
    constexpr float kBelowOne = 254.9F / 256;
    return node("Min", {shares, floats({kBelowOne}, {})}, {});
  }

  ExportedValue convolution(const space::Int8Weights& weights) {
    const auto& [values, scales, biases] = weights;
    const space::Int8Products& products = step_->products;
    const auto& kernel = products.window.kernel;
    const std::int64_t outputs = std::ssize(scales);
    const std::int64_t inputs = int8_.view.tensors.at(step_->inputs.front()).channels / products.groups;
    const float input_scale = int8_.grids.at(step_->inputs.front()).value().scale;
    std::vector<float> bias_scales = scales;
    for (float& scale : bias_scales) scale *= input_scale;
    const std::string weight = dequantized("weight", {outputs, inputs, kernel[0], kernel[1]},
                                           std::span(values), std::vector<float>(scales));
    const std::string bias = dequantized("bias", {outputs}, std::span(biases), std::move(bias_scales));
    return {node("Conv", {value(0).name, weight, bias},
                 convolution_attributes(products.window, products.groups))};
  }

  /// Adds whole numbers with a scale for each output channel. Returns the name of the real ones.
  template <typename Value>
  std::string dequantized(const std::string& what, const Dims& dims, std::span<const Value> values,
                          std::vector<float> scales) {
    const Dims per_channel{std::ssize(scales)};
    const std::string zero =
        constant(what + "_zero", per_channel, std::vector<Value>(scales.size(), Value{0}));
    const std::string scale = constant(what + "_scale", per_channel, std::move(scales));
    return node("DequantizeLinear", {constant(what, dims, values), scale, zero}, {{"axis", std::int64_t{0}}});
  }

  /// Mixes the values of places by the similarity of queries and keys, which is that of their channels.
  ExportedValue attention() {
    const space::Shape& shape = int8_.view.tensors.at(step_->output);
    const std::string split = integers({0, step_->heads, shape.channels / step_->heads, shape.width});
    const auto by_head = [&](std::size_t input) { return node("Reshape", {value(input).name, split}, {}); };
    const auto turned = [&](const std::string& name) {
      return node("Transpose", {name}, {{"perm", Dims{0, 1, 3, 2}}});
    };
    const std::string scores = node("MatMul", {turned(by_head(0)), by_head(1)}, {});
    const std::string shares = node("Softmax", {scores}, {{"axis", std::int64_t{-1}}});
    const std::string mixed = turned(node("MatMul", {shares, turned(by_head(2))}, {}));
    return {node("Reshape", {mixed, integers({0, shape.channels, 1, shape.width})}, {})};
  }

  /// Adds the limits of the step's output, if it has any.
  std::string limited(const std::string& value) {
    constexpr double kNone = std::numeric_limits<double>::infinity();
    if (step_->low == -kNone && step_->high == kNone) return value;
    if (step_->low == 0 && step_->high == kNone) return node("Relu", {value}, {});
    constexpr double kLargest = std::numeric_limits<float>::max();
    const auto limit = [&](double each) {
      return floats({static_cast<float>(std::clamp(each, -kLargest, kLargest))}, {});
    };
    return node("Clip", {value, limit(step_->low), limit(step_->high)}, {});
  }

  const space::Network& network_;
  const space::Int8Network& int8_;
  std::vector<std::string> values_;  // real values of the tensors so far
  const Int8Step* step_ = nullptr;
};

}  // namespace

std::string onnx_int8_bytes(const ExportedModel& model, const space::Int8Network& int8) {
  for (const Int8Step& step : int8.view.steps) {
    const std::string& kind = model.network.layers.at(step.layer).kind;
    const LayerExport* const functions = find_layer_export(kind);
    if (step.op != Int8Op::kLayer || (functions != nullptr && functions->onnx)) continue;
    throw UserError("no ONNX for layers of kind " + kind + " (register_layer_export)");
  }
  return Int8Model(model, int8).build();
}

}  // namespace skyline::model_export
