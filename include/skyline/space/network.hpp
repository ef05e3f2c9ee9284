#pragma once

#include "skyline/core/config_node.hpp"
#include "skyline/space/genotype.hpp"

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace skyline::space {

/// Shape of a sample between layers: channels x height x width. A flat vector is [features x 1 x 1].
struct Shape {
  std::int64_t channels = 0;
  std::int64_t height = 1;
  std::int64_t width = 1;
  /// Returns the number of values.
  std::int64_t elements() const { return channels * height * width; }
  bool operator==(const Shape&) const = default;
};
std::string to_text(const Shape& shape);  // "16x28x28"

/// Ways to set the first values of a tensor.
enum class Initializer {
  kZeros,
  kOnes,
  kQuarters,        // 0.25, PyTorch's default for prelu
  kKaimingUniform,  // U(-b, b) with b = 1/sqrt(fan_in), PyTorch's default for convolutions and linear layers
  kXavierUniform,   // U(-b, b) with b = sqrt(6 / (rows + columns)), PyTorch's default for attention; two dims
  kNarrowNormal,    // about N(0, 0.02^2), as for the position embeddings of vision transformers
};

/// A parameter or buffer of a layer. `name` is unique within the layer ("weight").
struct TensorSpec {
  std::string name;
  std::vector<std::int64_t> dims;
  Initializer initializer = Initializer::kZeros;
  std::int64_t fan_in = 0;  // number of inputs of one output, for kKaimingUniform
  bool trainable = true;    // false for a buffer, e.g. a running mean
  std::int64_t elements() const;
};

/// Exact costs of a network, or of a layer by itself, for one sample with float32 values. FLOPs, MACs and
/// peak_activation_bytes count a forward pass in evaluation mode. The costs in int8 are those of a whole
/// network; they stay 0 unless something asks for them. Conventions: docs/spaces.md.
struct Cost {
  std::int64_t parameters = 0;                 // number of trainable values
  std::int64_t flops = 0;                      // an add and a multiply count one each
  std::int64_t macs = 0;                       // counts convolutions and matrix products only
  std::int64_t peak_activation_bytes = 0;      // largest sum of what must exist at once around one layer
  std::int64_t training_activation_bytes = 0;  // the same for a training step: forward and backward pass
  std::int64_t weight_bytes = 0;               // size of parameters and buffers
  std::int64_t int8_peak_activation_bytes = 0;
  std::int64_t int8_weight_bytes = 0;
};

/// A member of Cost with its name.
struct NamedCost {
  const char* name;
  const char* unit;  // empty for a plain number
  std::int64_t Cost::*value;
};
/// All members of Cost. Those in int8 are the last ones.
inline constexpr std::array kCosts{
    NamedCost{"parameters", "", &Cost::parameters},
    NamedCost{"flops", "FLOPs", &Cost::flops},
    NamedCost{"macs", "MACs", &Cost::macs},
    NamedCost{"peak_activation_bytes", "B", &Cost::peak_activation_bytes},
    NamedCost{"training_activation_bytes", "B", &Cost::training_activation_bytes},
    NamedCost{"weight_bytes", "B", &Cost::weight_bytes},
    NamedCost{"int8_peak_activation_bytes", "B", &Cost::int8_peak_activation_bytes},
    NamedCost{"int8_weight_bytes", "B", &Cost::int8_weight_bytes}};
inline constexpr std::size_t kFloatCosts = kCosts.size() - 2;  // number of costs that are not in int8
static_assert(sizeof(Cost) == kCosts.size() * sizeof(std::int64_t), "a cost without a name");

/// The attributes of a layer, in alphabetical order of their names. References and pointers to values are
/// valid until a new name is added.
class Attributes {
 public:
  using Entry = std::pair<std::string, Value>;

  Attributes() = default;
  Attributes(std::initializer_list<Entry> entries);

  /// Returns the value of that name; a new name gets 0.
  Value& operator[](std::string_view name);
  /// Returns the value of that name, or nullptr.
  const Value* find(std::string_view name) const;
  std::size_t size() const { return entries_.size(); }
  auto begin() const { return entries_.begin(); }
  auto end() const { return entries_.end(); }
  auto operator<=>(const Attributes&) const = default;

 private:
  std::vector<Entry> entries_;
};

/// One node of the layer graph. Holds everything that the trainer, the cost model and the exporters need.
struct Layer {
  std::string name;                 // unique in the network: "conv2d_0", "batch_norm_0"
  std::string kind;                 // registered layer kind: "conv2d"
  std::vector<std::size_t> inputs;  // indices of earlier layers; empty if it reads the network's input
  // Resolved and complete: defaults filled in and words turned into numbers, so that equal layers have equal
  // attributes, e.g. conv2d {bias: true, channels: 16, kernel: 3, padding: 1, stride: 1} for `padding: same`.
  // A value that does nothing may be left out (dilation 1), so that a new attribute does not change ids.
  Attributes attributes;
  std::vector<Shape> input_shapes;  // shape of each of `inputs`, or of the network's input
  Shape output;
  std::vector<TensorSpec> tensors;
  std::int64_t inner_elements = 0;  // number of activations inside the layer, e.g. the scores of attention
  Cost cost;

  /// Returns the shape of the only input, or of the first one.
  const Shape& input() const { return input_shapes.front(); }
};

/// The layer graph of an architecture, in topological order; the last layer's output is the network's output.
struct Network {
  Shape input;
  std::int64_t classes = 0;
  std::vector<Layer> layers;
  Cost cost;

  /// Returns a text, equal only for equal networks: kinds, attributes, wiring, input shape; no parameter
  /// names.
  std::string canonical_text() const;
};

/// Return an attribute of a resolved layer.
/// @throws InternalError if there is none of that name and type. Those with a fallback return that if none
///         has that name.
std::int64_t attribute_integer(const Layer& layer, std::string_view name);
std::int64_t attribute_integer_or(const Layer& layer, std::string_view name, std::int64_t fallback);
/// @return  the number twice if the attribute is one
Sides attribute_sides_or(const Layer& layer, std::string_view name, const Sides& fallback);
double attribute_number(const Layer& layer, std::string_view name);
bool attribute_flag(const Layer& layer, std::string_view name);

}  // namespace skyline::space
