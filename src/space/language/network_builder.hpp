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

/// A tensor that a layer can read: 0 is the network's input, i + 1 the output of layer i.
using TensorIndex = std::size_t;

/// Builds a network layer by layer. Each layer reads `current()`, and its output becomes the current tensor.
class NetworkBuilder {
 public:
  explicit NetworkBuilder(const DataShape& data);

  /// Adds a layer. @throws UserError if it does not fit its input
  void add(const LayerTemplate& layer, const Bindings& bindings);
  /// Adds a layer that reads all of `inputs`. @throws UserError if it does not fit them
  void add(const LayerTemplate& layer, const Bindings& bindings, std::vector<TensorIndex> inputs);

  TensorIndex current() const { return current_; }
  void continue_from(TensorIndex tensor) { current_ = tensor; }
  const Shape& shape_of(TensorIndex tensor) const;
  /// Returns the layers so far. The reference is valid until the next one is added.
  const std::vector<Layer>& layers() const { return network_.layers; }
  /// Returns the named tensor with the number of the name.
  TensorIndex& named(std::size_t number);
  /// Bounds the work on a network that is enormous, or whose repetitions add nothing.
  /// @throws UserError at `source` after a million steps
  void count_steps(std::size_t steps, const ConfigNode& source);
  std::size_t steps() const { return steps_; }

  /// Returns the network in its canonical form, with its costs. Its output is `current()`.
  /// @throws UserError at `source` if it does not fit the data
  Network finish(const ConfigNode& source);

 private:
  Layer begin(std::string_view kind, const std::vector<TensorIndex>& inputs, const ConfigNode& source);
  std::string next_name(std::string_view kind);
  /// Returns the network's input as a layer, for a layer that reads it beside others.
  TensorIndex input_as_layer(const ConfigNode& source);

  Network network_;
  TensorIndex current_ = 0;
  TensorIndex input_layer_ = 0;  // an identity; 0 until it is needed
  std::vector<TensorIndex> named_;
  std::size_t steps_ = 0;
  std::size_t connections_ = 0;
  std::map<std::string, std::size_t, std::less<>> kind_counts_;
};

/// Returns the largest number of bytes of float32 activations that exist at once while the layers run in
/// order: the output of the running layer, and every earlier output that it or a later layer reads.
std::int64_t peak_activation_bytes(const Network& network);
/// Returns the same number for a training step: the forward pass keeps all outputs. On the way back each
/// layer adds the gradients of its inputs; then its output and the gradient of that are freed. The network's
/// input has no gradient.
std::int64_t training_activation_bytes(const Network& network);

}  // namespace skyline::space
