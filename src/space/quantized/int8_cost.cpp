#include "space/quantized/int8_cost.hpp"

#include "skyline/core/error.hpp"

#include <algorithm>
#include <vector>

namespace skyline::space {
namespace {

constexpr std::int64_t kFloatBytes = 4;
constexpr std::int64_t kOutputBytes = 12;  // bias, multiplier and shift of an output of a convolution

/// The memory of a tensor and of its views.
struct Buffer {
  std::int64_t bytes = 0;
  std::size_t first = 0;  // step that writes it; 0 for the network's input
  std::size_t last = 0;   // last step that reads it
};

/// Returns the buffers of a view's tensors; a view has none of its own.
std::vector<Buffer> buffers_of(const Int8View& view) {
  std::vector<std::size_t> owners(view.tensors.size());  // tensor whose memory each tensor shares
  std::vector<bool> is_float(view.tensors.size());       // whether each owner has four bytes per element
  std::vector<Buffer> buffers(view.tensors.size());
  for (std::size_t i = 0; i < view.steps.size(); ++i) {
    const Int8Step& step = view.steps[i];
    owners[step.output] = step.op == Int8Op::kView ? owners[step.inputs.front()] : step.output;
    if (owners[step.output] == step.output) buffers[step.output] = {0, i, i};
    for (const Int8Tensor input : step.inputs) {
      buffers[owners[input]].last = i;
      if (step.is_float()) is_float[owners[input]] = true;
    }
    if (step.is_float()) is_float[step.output] = true;
  }
  if (!view.steps.empty()) buffers[owners[view.output]].last = view.steps.size() - 1;
  for (Int8Tensor tensor = 0; tensor < owners.size(); ++tensor) {
    if (owners[tensor] != tensor) continue;
    buffers[tensor].bytes = view.tensors[tensor].elements() * (is_float[tensor] ? kFloatBytes : 1);
  }
  return buffers;
}

/// Returns the bytes that a step takes while it runs, besides its inputs and its output.
std::int64_t inner_bytes(const Int8Step& step, const Int8View& view, const Network& network) {
  if (step.op == Int8Op::kLayer) return kFloatBytes * network.layers[step.layer].inner_elements;
  if (step.op != Int8Op::kAttention) return 0;
  const std::int64_t tokens = view.tensors[step.output].width;
  return kFloatBytes * 2 * step.heads * tokens * tokens;  // the scores before and after the softmax
}

std::int64_t elements_of(const Layer& layer, const std::string& tensor) {
  const auto found = std::ranges::find(layer.tensors, tensor, &TensorSpec::name);
  require(found != layer.tensors.end(), "the int8 steps of a layer name a tensor that it does not have");
  return found->elements();
}

}  // namespace

std::vector<Int8Activations> int8_activations(const Int8View& view, const Network& network) {
  std::vector<Int8Activations> steps(view.steps.size());
  for (std::size_t i = 0; i < steps.size(); ++i) steps[i].alive = inner_bytes(view.steps[i], view, network);
  for (const Buffer& buffer : buffers_of(view)) {
    for (std::size_t i = buffer.first; i <= buffer.last && i < steps.size(); ++i)
      steps[i].alive += buffer.bytes;
    if (buffer.last < steps.size()) steps[buffer.last].ending += buffer.bytes;
  }
  return steps;
}

std::int64_t int8_peak_activation_bytes(const Int8View& view, const Network& network) {
  if (view.steps.empty()) return buffers_of(view).front().bytes;
  return std::ranges::max(int8_activations(view, network), {}, &Int8Activations::alive).alive;
}

std::int64_t int8_weight_bytes(const Int8View& view, const Network& network) {
  std::int64_t bytes = 0;
  for (const Int8Step& step : view.steps) {
    const Layer& layer = network.layers[step.layer];
    if (step.op == Int8Op::kLayer) {
      for (const TensorSpec& tensor : layer.tensors) bytes += kFloatBytes * tensor.elements();
    }
    if (step.op != Int8Op::kConvolution) continue;
    const Int8Products& products = step.products;
    bytes += kOutputBytes * view.tensors[step.output].channels;
    bytes += products.weight.empty() ? products.groups * products.window.kernel[0] * products.window.kernel[1]
                                     : elements_of(layer, products.weight);
  }
  return bytes;
}

void add_int8_costs(Network& network) {
  const Int8View view = int8_view(network);
  network.cost.int8_peak_activation_bytes = int8_peak_activation_bytes(view, network);
  network.cost.int8_weight_bytes = int8_weight_bytes(view, network);
}

}  // namespace skyline::space
