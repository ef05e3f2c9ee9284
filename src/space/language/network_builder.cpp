#include "space/language/network_builder.hpp"

#include "space/network/canonical_form.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace skyline::space {
namespace {

constexpr std::size_t kUsualLayers = 32;  // number of layers for which memory is reserved at the start
constexpr std::size_t kMostLayers = 10'000;
constexpr std::size_t kMostConnections = 100'000;  // most inputs of all layers together
constexpr std::size_t kMostSteps = 1'000'000;
constexpr std::int64_t kBytesPerElement = 4;

/// Fills in the activation bytes of a layer. Alone, its gradients are as large as inputs and output.
void complete_cost(Layer& layer) {
  std::int64_t weights = 0;
  for (const TensorSpec& tensor : layer.tensors) {
    weights += tensor.elements();
    if (tensor.trainable) layer.cost.parameters += tensor.elements();
  }
  layer.cost.weight_bytes = kBytesPerElement * weights;
  std::int64_t elements = layer.output.elements();
  for (const Shape& input : layer.input_shapes) elements += input.elements();
  layer.cost.peak_activation_bytes = kBytesPerElement * (elements + layer.inner_elements);
  layer.cost.training_activation_bytes = kBytesPerElement * (2 * elements + layer.inner_elements);
}

// Returns the tensors that a layer reads. Index 0 is the network's input, i + 1 the output of layer i.
std::vector<std::size_t> tensors_read_by(const Layer& layer) {
  if (layer.inputs.empty()) return {0};
  std::vector<std::size_t> tensors;
  for (const std::size_t input : layer.inputs) tensors.push_back(input + 1);
  std::ranges::sort(tensors);  // a layer may read one tensor twice
  tensors.erase(std::unique(tensors.begin(), tensors.end()), tensors.end());
  return tensors;
}

}  // namespace

NetworkBuilder::NetworkBuilder(const DataShape& data) {
  network_.input = data.input;
  network_.classes = data.classes;
  network_.layers.reserve(kUsualLayers);
}

void NetworkBuilder::add(const LayerTemplate& source, const Bindings& bindings) {
  add(source, bindings, {current_});
}

void NetworkBuilder::add(const LayerTemplate& source, const Bindings& bindings,
                         std::vector<TensorIndex> inputs) {
  if (inputs.size() > 1 && std::ranges::find(inputs, 0U) != inputs.end()) {
    std::ranges::replace(inputs, TensorIndex{0}, input_as_layer(source.source()));
  }
  count_steps(source.size(), source.source());
  Layer layer = begin(source.kind().name(), inputs, source.source());
  TemplateReader reader(source, bindings, layer.name);
  source.kind().read_attributes(layer, reader);
  source.kind().infer(layer, reader);
  network_.layers.push_back(std::move(layer));
  current_ = network_.layers.size();
}

Layer NetworkBuilder::begin(std::string_view kind, const std::vector<TensorIndex>& inputs,
                            const ConfigNode& source) {
  if (network_.layers.size() >= kMostLayers) {
    source.fail("the network has more than " + std::to_string(kMostLayers) + " layers");
  }
  if ((connections_ += inputs.size()) > kMostConnections) {
    source.fail("the network has more than " + std::to_string(kMostConnections) + " connections");
  }
  Layer layer;
  layer.kind = kind;
  layer.name = next_name(kind);
  for (const TensorIndex input : inputs) {
    layer.input_shapes.push_back(shape_of(input));
    if (input > 0) layer.inputs.push_back(input - 1);
  }
  return layer;
}

TensorIndex NetworkBuilder::input_as_layer(const ConfigNode& source) {
  if (input_layer_ > 0) return input_layer_;
  Layer layer = begin("identity", {0}, source);
  layer.output = layer.input();
  network_.layers.push_back(std::move(layer));
  input_layer_ = network_.layers.size();
  return input_layer_;
}

const Shape& NetworkBuilder::shape_of(TensorIndex tensor) const {
  return tensor == 0 ? network_.input : network_.layers[tensor - 1].output;
}

TensorIndex& NetworkBuilder::named(std::size_t number) {
  if (number >= named_.size()) named_.resize(number + 1);
  return named_[number];
}

void NetworkBuilder::count_steps(std::size_t steps, const ConfigNode& source) {
  steps_ += steps;
  if (steps_ > kMostSteps) {
    source.fail("the network takes more than " + std::to_string(kMostSteps) + " steps to build");
  }
}

std::string NetworkBuilder::next_name(std::string_view kind) {
  const auto count = kind_counts_.try_emplace(std::string(kind)).first;
  return count->first + '_' + std::to_string(count->second++);
}

Network NetworkBuilder::finish(const ConfigNode& source) {
  network_.layers.resize(current_);  // the layers after the output are not needed for it
  if (network_.layers.empty()) source.fail("the network has no layers");
  const Shape& output = network_.layers.back().output;
  const Shape wanted{network_.classes, 1, 1};
  if (network_.classes > 0 && output != wanted) {
    source.fail("the network's output " + to_text(output) + " of layer " + network_.layers.back().name +
                " does not fit the data's " + std::to_string(network_.classes) +
                " classes; end it with linear: {features: $classes}");
  }
  network_ = canonical_form(std::move(network_));
  for (Layer& layer : network_.layers) {
    complete_cost(layer);
    network_.cost.parameters += layer.cost.parameters;
    network_.cost.flops += layer.cost.flops;
    network_.cost.macs += layer.cost.macs;
    network_.cost.weight_bytes += layer.cost.weight_bytes;
  }
  network_.cost.peak_activation_bytes = peak_activation_bytes(network_);
  network_.cost.training_activation_bytes = training_activation_bytes(network_);
  return std::move(network_);
}

std::int64_t peak_activation_bytes(const Network& network) {
  const std::size_t count = network.layers.size();
  std::vector<std::size_t> last_reader(count + 1);
  for (std::size_t i = 0; i < count; ++i) {
    last_reader[i + 1] = i;  // an output that nobody reads is freed at once
    for (const std::size_t tensor : tensors_read_by(network.layers[i])) last_reader[tensor] = i;
  }
  std::int64_t living = network.input.elements();
  std::int64_t peak = living;
  for (std::size_t i = 0; i < count; ++i) {
    living += network.layers[i].output.elements();
    peak = std::max(peak, living + network.layers[i].inner_elements);
    for (const std::size_t tensor : tensors_read_by(network.layers[i])) {
      if (last_reader[tensor] != i) continue;
      living -= tensor == 0 ? network.input.elements() : network.layers[tensor - 1].output.elements();
    }
    if (last_reader[i + 1] == i) living -= network.layers[i].output.elements();
  }
  return kBytesPerElement * peak;
}

std::int64_t training_activation_bytes(const Network& network) {
  const std::vector<Layer>& layers = network.layers;
  std::int64_t living = network.input.elements();
  for (const Layer& layer : layers) living += layer.output.elements() + layer.inner_elements;
  std::vector<bool> has_gradient(layers.size(), false);
  const auto need_gradient = [&](std::size_t i) {
    if (!has_gradient[i]) living += layers[i].output.elements();
    has_gradient[i] = true;
  };
  std::int64_t peak = living;
  for (std::size_t i = layers.size(); i-- > 0;) {
    if (i + 1 == layers.size()) need_gradient(i);  // the loss reads the last output
    if (has_gradient[i]) std::ranges::for_each(layers[i].inputs, need_gradient);
    peak = std::max(peak, living);
    living -= (has_gradient[i] ? 2 : 1) * layers[i].output.elements() + layers[i].inner_elements;
  }
  return kBytesPerElement * peak;
}

}  // namespace skyline::space
