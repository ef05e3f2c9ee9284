#pragma once

#include "skyline/core/config_node.hpp"
#include "skyline/space/genotype.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace skyline::space {

/// Shape of one sample between layers: channels x height x width. A flat feature vector is [features x 1 x
/// 1].
struct Shape {
  std::int64_t channels = 0;
  std::int64_t height = 1;
  std::int64_t width = 1;
  std::int64_t elements() const { return channels * height * width; }
  bool operator==(const Shape&) const = default;
};
std::string to_text(const Shape& shape);  // "16x28x28"

/// How a tensor starts. kKaimingUniform: U(-b, b), b = 1/sqrt(fan_in) (PyTorch's default for conv2d and
/// linear).
enum class Initializer { kZeros, kOnes, kKaimingUniform };

/// A parameter or buffer of a layer; `name` is within the layer ("weight").
struct TensorSpec {
  std::string name;
  std::vector<std::int64_t> dims;
  Initializer initializer = Initializer::kZeros;
  std::int64_t fan_in = 0;  // for kKaimingUniform
  bool trainable = true;    // false: a buffer, e.g. a running mean
  std::int64_t elements() const;
};

/// Exact costs of one forward pass of one sample, in evaluation mode. Conventions: docs/spaces.md.
struct Cost {
  std::int64_t parameters = 0;             // trainable
  std::int64_t flops = 0;                  // an add and a multiply count one each
  std::int64_t macs = 0;                   // convolutions and linear layers only
  std::int64_t peak_activation_bytes = 0;  // float32: largest sum of what must exist at once around one layer
};

/// One node of the layer graph. Holds everything that the trainer, the cost model and the exporters need.
struct Layer {
  std::string name;                 // unique in the network: "conv2d_0", "batch_norm_0"
  std::string kind;                 // registered layer kind: "conv2d"
  std::vector<std::size_t> inputs;  // indices of earlier layers; empty = the network's input
  // Resolved and complete: defaults filled in and words turned into numbers, so that equal layers have equal
  // attributes, e.g. conv2d {bias: true, channels: 16, kernel: 3, padding: 1, stride: 1} for `padding: same`.
  std::map<std::string, Value> attributes;
  std::vector<Shape> input_shapes;  // of each of `inputs`; of the network's input if there are none
  Shape output;
  std::vector<TensorSpec> tensors;
  Cost cost;  // peak_activation_bytes: inputs and output of this layer

  /// Shape of the only input, or of the first one.
  const Shape& input() const { return input_shapes.front(); }
};

/// The layer graph of an architecture, in topological order; the last layer's output is the network's output.
struct Network {
  Shape input;
  std::int64_t classes = 0;
  std::vector<Layer> layers;
  Cost cost;

  /// A text that is equal exactly for equal networks: kinds, attributes, wiring, input shape; no parameter
  /// names.
  std::string canonical_text() const;
};

/// An attribute of a resolved layer. @throws InternalError if the layer has none of that name and type
std::int64_t attribute_integer(const Layer& layer, const std::string& name);
double attribute_number(const Layer& layer, const std::string& name);
bool attribute_flag(const Layer& layer, const std::string& name);

}  // namespace skyline::space
