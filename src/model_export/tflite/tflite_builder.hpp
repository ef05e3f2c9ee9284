#pragma once

#include "skyline/space/network.hpp"

#include "model_export/tflite/tflite_graph.hpp"
#include "model_export/tflite/tflite_weights.hpp"
#include "space/quantized/int8_cost.hpp"
#include "space/quantized/int8_network.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace skyline::model_export {

/// Tensors of a TFLite graph, channels last, that is made from the steps of an int8 network.
class TfliteBuilder {
 protected:
  using Index = TfliteGraph::Index;

  /// The arguments must outlive the object. Adds the input of the network.
  TfliteBuilder(const space::Network& network, const space::Int8Network& int8);

  const space::Shape& shape(space::Int8Tensor tensor) const { return int8_.view.tensors.at(tensor); }
  /// Returns nullopt for a tensor in float32.
  const std::optional<space::Int8Grid>& grid(space::Int8Tensor tensor) const {
    return int8_.grids.at(tensor);
  }
  const std::string& name(const space::Int8Step& step) const { return network_.layers.at(step.layer).name; }
  bool keeps_grid(const space::Int8Step& step) const {
    return grid(step.inputs.front()) == grid(step.output);
  }
  /// @throws UserError that names the step's layer
  [[noreturn]] void refuse(const space::Int8Step& step, const std::string& what) const;

  Index index(space::Int8Tensor tensor) const { return indices_.at(tensor); }
  Index input(const space::Int8Step& step, std::size_t i = 0) const { return index(step.inputs.at(i)); }
  /// Adds the tensor that a step writes.
  Index output(const space::Int8Step& step, const std::string& values = {});
  /// Adds the tensor that a step writes, or one of that shape on another grid. Kernels of pools, views and
  /// concatenations have one grid for what they read and write.
  Index output_on(const std::optional<space::Int8Grid>& grid, const space::Int8Step& step);
  /// Adds a tensor for a value inside a step. @param part  its name there @param values  of a constant
  Index inner(const space::Int8Step& step, const std::string& part, const space::Shape& shape,
              const std::optional<space::Int8Grid>& grid, const std::string& values = {});
  /// Adds constant whole numbers.
  Index constant(const space::Int8Step& step, const std::string& part, const std::vector<std::int32_t>& dims,
                 const std::vector<std::int32_t>& values);

  /// Returns whether a copy of a convolution's input with a border leaves the peak of the activations as it
  /// is.
  bool has_room(const space::Int8Step& step, const Border& border) const;
  /// Adds the border that an operator does not add by itself, if there is one. Returns what is read then.
  /// @param value  number of the border
  Index padded(const space::Int8Step& step, space::Int8Tensor source, const Border& border,
               std::int8_t value);
  /// Adds the real values of a tensor.
  Index dequantized(const space::Int8Step& step, Index read);

  const space::Int8Network& int8_;
  TfliteGraph graph_;

 private:
  const space::Network& network_;
  std::vector<space::Int8Activations> activations_;  // while each step runs
  std::vector<Index> indices_;                       // one per tensor so far
};

/// Returns the dimensions of one sample, channels last.
std::vector<std::int32_t> channels_last_dims(const space::Shape& shape);

}  // namespace skyline::model_export
