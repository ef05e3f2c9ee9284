#pragma once

#include "skyline/space/network.hpp"
#include "skyline/space/search_space.hpp"

#include "space/language/layer_template.hpp"

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace skyline::space {

/// What a layer reads: 0 is the network's input, i + 1 the output of layer i.
using TensorIndex = std::size_t;

/// Builds a network layer by layer; each layer reads `current()`, and its output is the next one to be read.
class NetworkBuilder {
 public:
  explicit NetworkBuilder(const DataShape& data);

  /// @throws UserError if the layer does not fit what it reads
  void add(const LayerTemplate& layer, const Bindings& bindings);
  /// Likewise, a layer that reads all of `inputs`.
  void add(const LayerTemplate& layer, const Bindings& bindings, std::vector<TensorIndex> inputs);

  TensorIndex current() const { return current_; }
  void continue_from(TensorIndex tensor) { current_ = tensor; }
  const Shape& shape_of(TensorIndex tensor) const;
  /// Named tensors, by the number of the name.
  TensorIndex& named(std::size_t number);
  /// Bounds the work on a network that is enormous, or whose repetitions add nothing.
  /// @throws UserError at `source` after a million steps
  void count_steps(std::size_t steps, const ConfigNode& source);
  std::size_t steps() const { return steps_; }

  /// The network in its canonical form, with its costs. The output is `current()`.
  /// @throws UserError at `source` if it does not fit the data
  Network finish(const ConfigNode& source);

 private:
  Layer begin(std::string_view kind, const std::vector<TensorIndex>& inputs, const ConfigNode& source);
  std::string next_name(std::string_view kind);
  /// The network's input for a layer that reads it beside others: their inputs are all layers.
  TensorIndex input_as_layer(const ConfigNode& source);

  Network network_;
  TensorIndex current_ = 0;
  TensorIndex input_layer_ = 0;  // an identity, once there is one
  std::vector<TensorIndex> named_;
  std::size_t steps_ = 0;
  std::size_t connections_ = 0;
  std::map<std::string, std::size_t, std::less<>> kind_counts_;
};

/// Largest number of bytes of float32 activations that exist at once while the layers run in order: the
/// output of the running layer, and every earlier output that it or a later layer reads.
std::int64_t peak_activation_bytes(const Network& network);
/// The same of a training step: the forward pass keeps all outputs. Going back, each layer adds the gradients
/// of its inputs, then its output and the gradient of that are freed. The network's input has no gradient.
std::int64_t training_activation_bytes(const Network& network);

}  // namespace skyline::space
