#pragma once

#include "support/map_reader.hpp"

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace skyline::testing {

/// The layer as a space would make it, but for the costs that all kinds have. @throws UserError if a shape or
/// a value does not fit
inline space::Layer make_layer(const std::string& kind, AttributeValues attributes,
                               std::vector<space::Shape> inputs) {
  space::Layer layer;
  layer.kind = kind;
  layer.name = kind + "_0";
  layer.input_shapes = std::move(inputs);
  MapReader reader(std::move(attributes));
  const space::LayerKind* known = space::find_layer_kind(kind);
  known->read_attributes(layer, reader);
  known->infer(layer, reader);
  return layer;
}

/// Builds networks of any graph by the kinds' own rules.
class GraphBuilder {
 public:
  explicit GraphBuilder(space::Shape input) { network_.input = input; }

  /// Adds a layer that reads these layers, or the network's input. @return  its index
  std::size_t add(const std::string& kind, std::vector<std::size_t> inputs, AttributeValues attributes = {}) {
    std::vector<space::Shape> shapes;
    for (const std::size_t input : inputs) shapes.push_back(network_.layers[input].output);
    if (shapes.empty()) shapes.push_back(network_.input);
    space::Layer layer = make_layer(kind, std::move(attributes), std::move(shapes));
    layer.inputs = std::move(inputs);
    layer.name = kind + "_" + std::to_string(network_.layers.size());
    network_.layers.push_back(std::move(layer));
    network_.classes = network_.layers.back().output.channels;
    return network_.layers.size() - 1;
  }
  const space::Shape& shape_of(std::size_t layer) const { return network_.layers[layer].output; }
  std::size_t last() const { return network_.layers.size() - 1; }
  const space::Network& build() const { return network_; }

 private:
  space::Network network_;
};

}  // namespace skyline::testing
