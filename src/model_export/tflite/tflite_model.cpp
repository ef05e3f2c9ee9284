#include "model_export/tflite/tflite_model.hpp"

#include "model_export/model/exported_model.hpp"
#include "model_export/tflite/tflite_builder.hpp"
#include "model_export/tflite/tflite_ops.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <string>

namespace skyline::model_export {
namespace {

using space::Int8Op;
using space::Int8Step;
using space::Int8Tensor;
using space::Int8Weights;
using space::Shape;

/// Returns whether the values have one order with the channels first and last.
bool has_one_order(const Shape& shape) {
  return shape.channels == 1 || shape.height * shape.width == 1;
}

/// Returns the numbers of zeros.
std::string zeros(const Shape& shape, const std::optional<space::Int8Grid>& grid) {
  return std::string(static_cast<std::size_t>(shape.elements()), static_cast<char>(grid.value().zero));
}

/// Adds the operators of each step.
class ModelSteps final : public TfliteBuilder {
 public:
  ModelSteps(const space::Network& network, const space::Int8Network& int8) : TfliteBuilder(network, int8) {}

  TfliteModel build() {
    for (std::size_t i = 0; i < int8_.view.steps.size(); ++i) add(int8_.view.steps[i], int8_.weights.at(i));
    const Index output = index(int8_.view.output);
    return {std::move(graph_), index(0), output};
  }

 private:
  void add(const Int8Step& step, const Int8Weights& weights) {
    const bool is_float = !grid(step.output);
    if (is_float && step.op != Int8Op::kConvolution && step.op != Int8Op::kView)
      refuse(step, "gives the output in float32, as no int8 kernel does");
    switch (step.op) {
      case Int8Op::kConvolution:
        return convolution(step, step.products, weights);
      case Int8Op::kHardSigmoid:
        return hard_sigmoid(step);
      case Int8Op::kConcat:
        return concat(step);
      case Int8Op::kMaxPool:
        return pool(step, kTfliteMaxPool, step.window);
      case Int8Op::kAveragePool:
        return pool(step, kTfliteAveragePool, step.window);
      case Int8Op::kMaximum: {
        const Shape& image = shape(step.inputs.front());
        return pool(step, kTfliteMaxPool, {.kernel = {image.height, image.width}});
      }
      case Int8Op::kMean: {
        const Index places = constant(step, "axes", {2}, {1, 2});
        return graph_.add_operator(kTfliteMean, {input(step), places}, output(step), mean_options());
      }
      case Int8Op::kView:
        return view(step);
      case Int8Op::kZeros:
        output(step, zeros(shape(step.output), grid(step.output)));
        return;
      default:
        return function(step);
    }
  }

  /// An operator that reads whole tensors, and has few options.
  void function(const Int8Step& step) {
    static const std::map<Int8Op, TfliteOp> ops{
        {Int8Op::kAdd, kTfliteAdd},         {Int8Op::kMultiply, kTfliteMultiply},
        {Int8Op::kClamp, kTfliteQuantize},  // the limits are those of its grid
        {Int8Op::kSigmoid, kTfliteSigmoid}, {Int8Op::kHardSwish, kTfliteHardSwish},
        {Int8Op::kTanh, kTfliteTanh},       {Int8Op::kSoftmax, kTfliteSoftmax}};
    const auto found = ops.find(step.op);
    if (found == ops.end()) refuse(step, "has no int8 kernel");
    std::vector<Index> inputs;
    for (const Int8Tensor each : step.inputs) inputs.push_back(index(each));
    graph_.add_operator(found->second, inputs, output(step),
                        step.op == Int8Op::kSoftmax ? softmax_options() : FlatTable());
  }

  /// A line whose ends are those of the output's grid, from 0 to 255 / 256.
  void hard_sigmoid(const Int8Step& step) {
    const Int8Tensor source = step.inputs.front();
    const std::int64_t channels = shape(source).channels;
    constexpr double kSlope = 1.0 / 6;
    constexpr double kOffset = 0.5;
    const double scale = static_cast<double>(grid(source).value().scale);
    convolution(step, {.groups = channels}, int8_line(kSlope, kOffset, scale, channels));
  }

  /// A linear layer reads an image by a kernel of the image's size, without a copy of it in a row. It is no
  /// fully connected operator: TFLite Micro of before September 2024 has none with a scale for each output.
  void convolution(const Int8Step& step, const space::Int8Products& products, const Int8Weights& weights) {
    Int8Tensor source = step.inputs.front();
    space::Window window = products.window;
    if (const auto found = images_.find(source); found != images_.end()) {
      source = found->second;
      window.kernel = {shape(source).height, shape(source).width};
    }
    const space::Int8Grid& read_grid = grid(source).value();
    const std::int64_t channels = shape(source).channels;
    const bool is_float = !grid(step.output);
    const bool is_depthwise = products.groups > 1 && products.groups == channels;
    Border border = border_of(window, shape(source), shape(step.output));
    const auto kernel = window.kernel;
    if (border.is_explicit && !has_room(step, border)) {
      window = same_window(window, shape(source), shape(step.output)).value_or(window);
      border = border_of(window, shape(source), shape(step.output));
    }
    Index read = padded(step, source, border, static_cast<std::int8_t>(read_grid.zero));
    if (is_float) read = dequantized(step, read);
    const std::int64_t outputs = std::ssize(weights.scales);
    FilterTensors filter = filter_tensors(with_kernel(weights, kernel, window.kernel),
                                          {outputs, channels / products.groups, window.kernel}, is_depthwise,
                                          read_grid.scale, is_float);
    filter.weight.name = name(step) + "/weight";
    filter.bias.name = name(step) + "/bias";
    const std::vector<Index> inputs{read, graph_.add_tensor(std::move(filter.weight)),
                                    graph_.add_tensor(std::move(filter.bias))};
    const std::uint8_t limits = is_float ? limits_of(step) : 0;
    if (is_depthwise) {
      graph_.add_operator(kTfliteDepthwise, inputs, output(step),
                          depthwise_options(window, border.padding, outputs / products.groups, limits));
    } else {
      graph_.add_operator(kTfliteConvolution, inputs, output(step),
                          convolution_options(window, border.padding, limits));
    }
  }

  /// Returns the function that limits an output in float32, as the schema's number. Those of int8 tensors are
  /// the ends of their grids.
  std::uint8_t limits_of(const Int8Step& step) const {
    constexpr double kNone = std::numeric_limits<double>::infinity();
    constexpr double kSix = 6;
    if (step.low == -kNone && step.high == kNone) return 0;
    if (step.low == 0 && step.high == kNone) return 1;
    if (step.low == 0 && step.high == kSix) return 3;
    refuse(step, "has limits that no kernel has");
  }

  void pool(const Int8Step& step, const TfliteOp& op, const space::Window& window) {
    const Int8Tensor source = step.inputs.front();
    const Border border = border_of(window, shape(source), shape(step.output));
    if (op == kTfliteAveragePool && border.is_explicit) refuse(step, "pads as no int8 kernel does");
    constexpr std::int8_t kLowest = -128;  // never the maximum
    const Index read = padded(step, source, border, kLowest);
    const Index made = output_on(grid(source), step);
    graph_.add_operator(op, {read}, made, pool_options(window, border.padding));
    if (!keeps_grid(step)) graph_.add_operator(kTfliteQuantize, {made}, output(step));
  }

  void concat(const Int8Step& step) {
    std::vector<Index> parts;
    for (std::size_t i = 0; i < step.inputs.size(); ++i) {
      const Int8Tensor each = step.inputs[i];
      parts.push_back(index(each));
      if (grid(each) == grid(step.output)) continue;
      const bool is_zero = !graph_.tensor(index(each)).values.empty();
      const Index part = inner(step, "part_" + std::to_string(i), shape(each), grid(step.output),
                               is_zero ? zeros(shape(each), grid(step.output)) : "");
      if (!is_zero) graph_.add_operator(kTfliteQuantize, {parts.back()}, part);
      parts.back() = part;
    }
    graph_.add_operator(kTfliteConcat, parts, output(step), concat_options());
  }

  /// The order of values is that of channels first.
  void view(const Int8Step& step) {
    const Int8Tensor source = step.inputs.front();
    if (is_read_by_linear_layers(step.output)) {
      const auto found = images_.find(source);
      images_[step.output] = found == images_.end() ? source : found->second;
      return;
    }
    const Shape& from = shape(source);
    const Shape& to = shape(step.output);
    const bool keeps_order = from.channels == to.channels || (has_one_order(from) && has_one_order(to));
    if (!keeps_order && !has_one_order(to)) refuse(step, "changes the shape as no int8 kernel does");
    Index read = input(step);
    if (!keeps_order) {
      const Index order = constant(step, "order", {4}, {0, 3, 1, 2});
      const Index turned = inner(step, "turned", {from.width, from.channels, from.height}, grid(source));
      graph_.add_operator(kTfliteTranspose, {read, order}, turned);
      read = turned;
    }
    const Index made = output_on(grid(source), step);
    const std::vector<std::int32_t> dims = channels_last_dims(to);
    graph_.add_operator(kTfliteReshape, {read, constant(step, "shape", {4}, dims)}, made,
                        reshape_options(dims));
    if (keeps_grid(step)) return;
    graph_.add_operator(grid(step.output) ? kTfliteQuantize : kTfliteDequantize, {made}, output(step));
  }

  bool is_read_by_linear_layers(Int8Tensor tensor) const {
    return tensor != int8_.view.output && shape(tensor).height * shape(tensor).width == 1 &&
           std::ranges::all_of(int8_.view.steps, [&](const Int8Step& step) {
             return std::ranges::find(step.inputs, tensor) == step.inputs.end() ||
                    (step.op == Int8Op::kConvolution && step.products.groups == 1);
           });
  }

  std::map<Int8Tensor, Int8Tensor> images_;  // images that linear layers read as a row
};

}  // namespace

TfliteModel tflite_model(const space::Network& network, const space::Int8Network& int8) {
  return ModelSteps(network, int8).build();
}

std::string tflite_bytes(const ExportedModel& model, const space::Int8Network& int8) {
  const TfliteModel made = tflite_model(model.network, int8);
  std::string description = "Skyline";
  for (const auto& [name, value] : model.metadata) {
    if (name == "run" || name == "trial" || name == "arch_id") description += ", " + name + " " + value;
  }
  return made.graph.model_bytes(made.input, made.output, description);
}

}  // namespace skyline::model_export
