#include "model_export/tflite/tflite_model.hpp"

#include "skyline/core/error.hpp"

#include "model_export/model/exported_model.hpp"
#include "model_export/tflite/tflite_ops.hpp"
#include "model_export/tflite/tflite_weights.hpp"

#include <algorithm>
#include <cmath>
#include <map>

namespace skyline::model_export {
namespace {

using space::Int8Grid;
using space::Int8Op;
using space::Int8Step;
using space::Int8Tensor;
using space::Int8Weights;
using space::Shape;
using Index = TfliteGraph::Index;
using Dims = std::vector<std::int32_t>;

Dims dims_of(const Shape& shape) {
  return {1, static_cast<std::int32_t>(shape.height), static_cast<std::int32_t>(shape.width),
          static_cast<std::int32_t>(shape.channels)};
}

/// Returns whether the values have one order with the channels first and last.
bool has_one_order(const Shape& shape) {
  return shape.channels == 1 || shape.height * shape.width == 1;
}

class Builder {
 public:
  Builder(const space::Network& network, const space::Int8Network& int8)
      : network_(network), int8_(int8), view_(int8.view), indices_(view_.tensors.size()) {}

  TfliteModel build() {
    indices_.at(0) = graph_.add_tensor(on_grid("input", view_.tensors.front(), grid(0)));
    for (std::size_t i = 0; i < view_.steps.size(); ++i) add(view_.steps[i], int8_.weights.at(i));
    const Index output = indices_.at(view_.output);
    return {std::move(graph_), indices_.front(), output};
  }

 private:
  const Int8Grid& grid(Int8Tensor tensor) const { return int8_.grids.at(tensor).value(); }
  Index input(const Int8Step& step, std::size_t i = 0) const { return indices_.at(step.inputs.at(i)); }
  const std::string& name(const Int8Step& step) const { return network_.layers.at(step.layer).name; }

  [[noreturn]] void refuse(const Int8Step& step, const std::string& what) const {
    throw UserError("int8: " + name(step) + " " + what + "; leave it out, or take --format onnx-int8");
  }

  static TfliteTensor on_grid(const std::string& name, const Shape& shape, const Int8Grid& grid) {
    return {.name = name, .dims = dims_of(shape), .scales = {grid.scale}, .zero = grid.zero};
  }
  /// Adds the tensor that a step writes.
  Index output(const Int8Step& step) {
    const Shape& shape = view_.tensors.at(step.output);
    const std::optional<Int8Grid>& grid = int8_.grids.at(step.output);
    indices_.at(step.output) = graph_.add_tensor(
        grid ? on_grid(name(step), shape, *grid)
             : TfliteTensor{.name = name(step), .dims = dims_of(shape), .type = TfliteType::kFloat32});
    return indices_.at(step.output);
  }
  Index constant(const std::string& name, const Dims& dims, const std::vector<std::int32_t>& values) {
    return graph_.add_tensor(
        {.name = name, .dims = dims, .type = TfliteType::kInt32, .values = bytes_of(values)});
  }

  void add(const Int8Step& step, const Int8Weights& weights) {
    switch (step.op) {
      case Int8Op::kConvolution:
        return convolution(step, step.products, weights);
      case Int8Op::kHardSigmoid: {
        const Int8Tensor source = step.inputs.front();
        const std::int64_t channels = view_.tensors.at(source).channels;
        return convolution(step, {.groups = channels},
                           int8_line(1.0 / 6, 0.5, static_cast<double>(grid(source).scale), channels));
      }
      case Int8Op::kAdd:
        return graph_.add_operator(kTfliteAdd, {input(step), input(step, 1)}, output(step));
      case Int8Op::kMultiply:
        return graph_.add_operator(kTfliteMultiply, {input(step), input(step, 1)}, output(step));
      case Int8Op::kConcat:
        return concat(step);
      case Int8Op::kMaxPool:
        return pool(step, kTfliteMaxPool, step.window);
      case Int8Op::kAveragePool:
        return pool(step, kTfliteAveragePool, step.window);
      case Int8Op::kMaximum: {
        const Shape& shape = view_.tensors.at(step.inputs.front());
        return pool(step, kTfliteMaxPool, {.kernel = {shape.height, shape.width}});
      }
      case Int8Op::kMean: {
        const Index places = constant(name(step) + "/axes", {2}, {1, 2});
        return graph_.add_operator(kTfliteMean, {input(step), places}, output(step), mean_options());
      }
      case Int8Op::kClamp:  // within the limits of its grid
        return graph_.add_operator(kTfliteQuantize, {input(step)}, output(step));
      case Int8Op::kView:
        return view(step);
      case Int8Op::kZeros:
        return zeros(step);
      default:
        return function(step);
    }
  }

  void function(const Int8Step& step) {
    static const std::map<Int8Op, TfliteOp> ops{{Int8Op::kSigmoid, kTfliteSigmoid},
                                                {Int8Op::kHardSwish, kTfliteHardSwish},
                                                {Int8Op::kTanh, kTfliteTanh},
                                                {Int8Op::kSoftmax, kTfliteSoftmax}};
    const auto found = ops.find(step.op);
    if (found == ops.end()) refuse(step, "has no int8 kernel");
    const Index source = input(step);
    graph_.add_operator(found->second, {source}, output(step),
                        step.op == Int8Op::kSoftmax ? softmax_options() : FlatTable());
  }

  /// A linear layer reads an image by a kernel of the image's size, without a copy of it in a row. It is no
  /// fully connected operator: older runtimes take the first of its scales for all channels.
  void convolution(const Int8Step& step, const space::Int8Products& products, const Int8Weights& weights) {
    Int8Tensor source = step.inputs.front();
    space::Window window = products.window;
    if (const auto found = images_.find(source); found != images_.end()) {
      source = found->second;
      window.kernel = {view_.tensors.at(source).height, view_.tensors.at(source).width};
    }
    const Shape& shape = view_.tensors.at(source);
    const float input_scale = grid(source).scale;
    const bool is_float = !int8_.grids.at(step.output);
    const bool is_depthwise = products.groups > 1 && products.groups == shape.channels;
    const Border border = border_of(window, shape, view_.tensors.at(step.output));
    Index read = padded(step, source, border, static_cast<std::int8_t>(grid(source).zero));
    if (is_float) read = dequantized(step, read);
    FilterTensors filter =
        filter_tensors(weights, {std::ssize(weights.scales), shape.channels / products.groups, window.kernel},
                       is_depthwise, input_scale, is_float);
    filter.weight.name = name(step) + "/weight";
    filter.bias.name = name(step) + "/bias";
    const std::vector<Index> inputs{read, graph_.add_tensor(std::move(filter.weight)),
                                    graph_.add_tensor(std::move(filter.bias))};
    if (is_depthwise) {
      const std::int64_t multiplier = std::ssize(weights.scales) / products.groups;
      graph_.add_operator(kTfliteDepthwise, inputs, output(step),
                          depthwise_options(window, border.padding, multiplier));
    } else {
      graph_.add_operator(kTfliteConvolution, inputs, output(step),
                          convolution_options(window, border.padding));
    }
  }

  /// Returns the tensor with the border that an operator does not add by itself.
  Index padded(const Int8Step& step, Int8Tensor source, const Border& border, std::int8_t value) {
    const Index read = indices_.at(source);
    if (!border.is_explicit) return read;
    Shape shape = view_.tensors.at(source);
    shape.height += border.before[0] + border.after[0];
    shape.width += border.before[1] + border.after[1];
    const auto number = [](std::int64_t size) { return static_cast<std::int32_t>(size); };
    const Index sizes = constant(name(step) + "/border", {4, 2},
                                 {0, 0, number(border.before[0]), number(border.after[0]),
                                  number(border.before[1]), number(border.after[1]), 0, 0});
    TfliteTensor filling = on_grid(name(step) + "/filling", {1, 1, 1}, grid(source));
    filling.dims = {1};
    filling.values = bytes_of(std::vector{value});
    const Index result = graph_.add_tensor(on_grid(name(step) + "/padded", shape, grid(source)));
    graph_.add_operator(kTflitePad, {read, sizes, graph_.add_tensor(std::move(filling))}, result);
    return result;
  }

  Index dequantized(const Int8Step& step, Index read) {
    const Index result = graph_.add_tensor(
        {.name = name(step) + "/values", .dims = graph_.tensor(read).dims, .type = TfliteType::kFloat32});
    graph_.add_operator(kTfliteDequantize, {read}, result);
    return result;
  }

  /// Adds a tensor with the values of `made`, on the grid of the step's output.
  void requantize(const Int8Step& step, Index made) {
    graph_.add_operator(kTfliteQuantize, {made}, output(step));
  }
  bool keeps_grid(const Int8Step& step) const {
    return int8_.grids.at(step.inputs.front()) == int8_.grids.at(step.output);
  }

  /// Kernels of pools, views and concatenations have one grid for what they read and write.
  Index output_on_grid_of(const Int8Step& step, const Int8Grid& grid) {
    if (grid == this->grid(step.output)) return output(step);
    return graph_.add_tensor(on_grid(name(step) + "/before", view_.tensors.at(step.output), grid));
  }

  void pool(const Int8Step& step, const TfliteOp& op, const space::Window& window) {
    const Int8Tensor source = step.inputs.front();
    const Border border = border_of(window, view_.tensors.at(source), view_.tensors.at(step.output));
    if (op == kTfliteAveragePool && border.is_explicit) refuse(step, "pads as no int8 kernel does");
    constexpr std::int8_t kLowest = -128;  // never the maximum
    const Index read = padded(step, source, border, kLowest);
    const Index made = output_on_grid_of(step, grid(source));
    graph_.add_operator(op, {read}, made, pool_options(window, border.padding));
    if (!keeps_grid(step)) requantize(step, made);
  }

  void concat(const Int8Step& step) {
    std::vector<Index> parts;
    for (std::size_t i = 0; i < step.inputs.size(); ++i) {
      parts.push_back(input(step, i));
      if (int8_.grids.at(step.inputs[i]) == int8_.grids.at(step.output)) continue;
      const Index part = graph_.add_tensor(on_grid(name(step) + "/part_" + std::to_string(i),
                                                   view_.tensors.at(step.inputs[i]), grid(step.output)));
      graph_.add_operator(kTfliteQuantize, {parts.back()}, part);
      parts.back() = part;
    }
    constexpr std::int64_t kChannels = 3;
    graph_.add_operator(kTfliteConcat, parts, output(step), concat_options(kChannels));
  }

  /// The order of values is that of channels first.
  void view(const Int8Step& step) {
    if (is_read_by_linear_layers(step.output)) {
      images_[step.output] = step.inputs.front();
      return;
    }
    const Shape& from = view_.tensors.at(step.inputs.front());
    const Shape& to = view_.tensors.at(step.output);
    const Int8Grid& grid = this->grid(step.inputs.front());
    const bool keeps_order = from.channels == to.channels || (has_one_order(from) && has_one_order(to));
    if (!keeps_order && !has_one_order(to)) refuse(step, "changes the shape as no int8 kernel does");
    Index read = input(step);
    if (!keeps_order) {
      TfliteTensor turned = on_grid(name(step) + "/turned", from, grid);
      turned.dims = {1, static_cast<std::int32_t>(from.channels), static_cast<std::int32_t>(from.height),
                     static_cast<std::int32_t>(from.width)};
      const Index order = constant(name(step) + "/order", {4}, {0, 3, 1, 2});
      const Index result = graph_.add_tensor(std::move(turned));
      graph_.add_operator(kTfliteTranspose, {read, order}, result);
      read = result;
    }
    const Index made = output_on_grid_of(step, grid);
    const Index sizes = constant(name(step) + "/shape", {4}, dims_of(to));
    graph_.add_operator(kTfliteReshape, {read, sizes}, made, reshape_options(dims_of(to)));
    if (!keeps_grid(step)) requantize(step, made);
  }

  bool is_read_by_linear_layers(Int8Tensor tensor) const {
    const Shape& shape = view_.tensors.at(tensor);
    return tensor != view_.output && shape.height * shape.width == 1 &&
           std::ranges::all_of(view_.steps, [&](const Int8Step& step) {
             return std::ranges::find(step.inputs, tensor) == step.inputs.end() ||
                    (step.op == Int8Op::kConvolution && step.products.groups == 1);
           });
  }

  void zeros(const Int8Step& step) {
    const Shape& shape = view_.tensors.at(step.output);
    TfliteTensor tensor = on_grid(name(step), shape, grid(step.output));
    tensor.values =
        std::string(static_cast<std::size_t>(shape.elements()), static_cast<char>(grid(step.output).zero));
    indices_.at(step.output) = graph_.add_tensor(std::move(tensor));
  }

  const space::Network& network_;
  const space::Int8Network& int8_;
  const space::Int8View& view_;
  TfliteGraph graph_;
  std::vector<Index> indices_;               // of the tensors so far
  std::map<Int8Tensor, Int8Tensor> images_;  // images that linear layers read as a row
};

}  // namespace

TfliteModel tflite_model(const space::Network& network, const space::Int8Network& int8) {
  return Builder(network, int8).build();
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
