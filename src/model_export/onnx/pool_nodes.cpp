#include "model_export/onnx/onnx_layers.hpp"

namespace skyline::model_export {
namespace {

using Dims = std::vector<std::int64_t>;

/// Pools with a sliding window; padded places do not count.
auto sliding(const char* op) {
  return [op](OnnxLayer& layer) {
    return ExportedValue{
        layer.node(op, {layer.image()}, window_attributes(space::Window::of_pool(layer.layer())))};
  };
}

auto global(const char* op) {
  return [op](OnnxLayer& layer) { return ExportedValue{layer.node(op, {layer.image()})}; };
}

/// Pools `length` places of one axis into `size`. Place i covers [i * length / size, ceil((i + 1) * length /
/// size)). These windows may overlap, for which ONNX has no node.
std::string pooled_along(OnnxLayer& layer, const std::string& image, std::int64_t axis, std::int64_t length,
                         std::int64_t size, const char* reduce) {
  if (length == size) return image;
  const std::string axes = layer.integers({axis});
  std::vector<std::string> places;
  for (std::int64_t i = 0; i < size; ++i) {
    const std::string first = layer.integers({i * length / size});
    const std::string end = layer.integers({((i + 1) * length + size - 1) / size});
    const std::string part = layer.node("Slice", {image, first, end, axes});
    places.push_back(layer.node(reduce, {part}, {{"axes", Dims{axis}}}));
  }
  return places.size() == 1 ? places.front() : layer.node("Concat", places, {{"axis", axis}});
}

/// Pools adaptively.
/// @param op      used if all windows have one size
/// @param reduce  used otherwise, along each axis: the mean of rows' means is the mean
auto adaptive(const char* op, const char* reduce) {
  return [op, reduce](OnnxLayer& layer) {
    const space::Shape& input = layer.layer().input();
    const space::Shape& output = layer.layer().output;
    if (input.height % output.height == 0 && input.width % output.width == 0) {
      const Dims kernel{input.height / output.height, input.width / output.width};
      return ExportedValue{layer.node(op, {layer.image()}, {{"kernel_shape", kernel}, {"strides", kernel}})};
    }
    const std::string rows = pooled_along(layer, layer.image(), 2, input.height, output.height, reduce);
    return ExportedValue{pooled_along(layer, rows, 3, input.width, output.width, reduce)};
  };
}

}  // namespace

void add_pool_nodes(OnnxFunctions& functions) {
  functions["adaptive_average_pool"] = adaptive("AveragePool", "ReduceMean");
  functions["adaptive_max_pool"] = adaptive("MaxPool", "ReduceMax");
  functions["average_pool"] = sliding("AveragePool");
  functions["global_average_pool"] = global("GlobalAveragePool");
  functions["global_max_pool"] = global("GlobalMaxPool");
  functions["max_pool"] = sliding("MaxPool");
}

}  // namespace skyline::model_export
