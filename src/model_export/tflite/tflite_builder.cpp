#include "model_export/tflite/tflite_builder.hpp"

#include "skyline/core/error.hpp"

#include "model_export/tflite/tflite_ops.hpp"

#include <algorithm>

namespace skyline::model_export {
namespace {

using space::Int8Grid;
using space::Int8Step;
using space::Shape;

/// @param grid  nullopt for a tensor in float32
TfliteTensor tensor_on(const std::optional<Int8Grid>& grid, const std::string& name, const Shape& shape) {
  TfliteTensor tensor{.name = name, .dims = channels_last_dims(shape), .type = TfliteType::kFloat32};
  if (!grid) return tensor;
  tensor.type = TfliteType::kInt8;
  tensor.scales = {grid->scale};
  tensor.zero = grid->zero;
  return tensor;
}

Shape with_border(Shape shape, const Border& border) {
  shape.height += border.before[0] + border.after[0];
  shape.width += border.before[1] + border.after[1];
  return shape;
}

}  // namespace

TfliteBuilder::TfliteBuilder(const space::Network& network, const space::Int8Network& int8)
    : int8_(int8),
      network_(network),
      activations_(space::int8_activations(int8.view, network)),
      indices_(int8.view.tensors.size()) {
  indices_.front() = graph_.add_tensor(tensor_on(grid(0), "input", shape(0)));
}

void TfliteBuilder::refuse(const Int8Step& step, const std::string& what) const {
  throw UserError("int8: " + name(step) + " " + what + "; leave it out, or take --format onnx-int8");
}

TfliteBuilder::Index TfliteBuilder::output(const Int8Step& step, const std::string& values) {
  TfliteTensor tensor = tensor_on(grid(step.output), name(step), shape(step.output));
  tensor.values = values;
  indices_.at(step.output) = graph_.add_tensor(std::move(tensor));
  return index(step.output);
}

TfliteBuilder::Index TfliteBuilder::output_on(const std::optional<Int8Grid>& grid, const Int8Step& step) {
  if (grid == this->grid(step.output)) return output(step);
  return inner(step, "before", shape(step.output), grid);
}

TfliteBuilder::Index TfliteBuilder::inner(const Int8Step& step, const std::string& part, const Shape& shape,
                                          const std::optional<Int8Grid>& grid, const std::string& values) {
  TfliteTensor tensor = tensor_on(grid, name(step) + "/" + part, shape);
  tensor.values = values;
  return graph_.add_tensor(std::move(tensor));
}

TfliteBuilder::Index TfliteBuilder::constant(const Int8Step& step, const std::string& part,
                                             const std::vector<std::int32_t>& dims,
                                             const std::vector<std::int32_t>& values) {
  return graph_.add_tensor({.name = name(step) + "/" + part,
                            .dims = dims,
                            .type = TfliteType::kInt32,
                            .values = bytes_of(values)});
}

bool TfliteBuilder::has_room(const Int8Step& step, const Border& border) const {
  const space::Int8Activations& beside = activations_.at(step.output - 1);  // step i writes tensor i + 1
  const std::int64_t copy = with_border(shape(step.inputs.front()), border).elements();
  // It is written before the output exists, and read when the input may be needed no more.
  const std::int64_t gone = std::min(shape(step.output).elements(), beside.ending);
  return beside.alive + copy - gone <=
         std::ranges::max(activations_, {}, &space::Int8Activations::alive).alive;
}

TfliteBuilder::Index TfliteBuilder::padded(const Int8Step& step, space::Int8Tensor source,
                                           const Border& border, std::int8_t value) {
  if (!border.is_explicit) return index(source);
  const auto& [rows, columns] = border.before;
  const auto& [last_rows, last_columns] = border.after;
  const Shape around = with_border(shape(source), border);
  const auto number = [](std::int64_t size) { return static_cast<std::int32_t>(size); };
  const Index sizes =
      constant(step, "border", {4, 2},
               {0, 0, number(rows), number(last_rows), number(columns), number(last_columns), 0, 0});
  TfliteTensor filling = tensor_on(grid(source), name(step) + "/filling", {1, 1, 1});
  filling.dims = {1};
  filling.values = bytes_of(std::vector{value});
  const Index result = inner(step, "padded", around, grid(source));
  graph_.add_operator(kTflitePad, {index(source), sizes, graph_.add_tensor(std::move(filling))}, result);
  return result;
}

TfliteBuilder::Index TfliteBuilder::dequantized(const Int8Step& step, Index read) {
  const Index result = graph_.add_tensor(
      {.name = name(step) + "/values", .dims = graph_.tensor(read).dims, .type = TfliteType::kFloat32});
  graph_.add_operator(kTfliteDequantize, {read}, result);
  return result;
}

std::vector<std::int32_t> channels_last_dims(const Shape& shape) {
  return {1, static_cast<std::int32_t>(shape.height), static_cast<std::int32_t>(shape.width),
          static_cast<std::int32_t>(shape.channels)};
}

}  // namespace skyline::model_export
