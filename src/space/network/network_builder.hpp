#pragma once

#include "skyline/space/network.hpp"
#include "skyline/space/search_space.hpp"

#include "space/language/layer_template.hpp"

#include <map>
#include <string_view>

namespace skyline::space {

/// Builds a network layer by layer; each layer reads the one before.
class NetworkBuilder {
 public:
  explicit NetworkBuilder(const DataShape& data);

  /// @throws UserError if the layer does not fit the output of the one before
  void add(const LayerTemplate& layer, const Bindings& bindings);
  /// The network with its costs. @throws UserError at `source` if its output does not fit the data
  Network finish(const ConfigNode& source);

 private:
  std::string next_name(std::string_view kind);

  Network network_;
  std::map<std::string_view, std::size_t> kind_counts_;
};

/// Largest number of bytes of float32 activations that exist at once while the layers run in order: the
/// output of the running layer, and every earlier output that it or a later layer reads.
std::int64_t peak_activation_bytes(const Network& network);
/// The same of a training step: the forward pass keeps all outputs. Going back, each layer adds the gradients
/// of its inputs, then its output and the gradient of that are freed. The network's input has no gradient.
std::int64_t training_activation_bytes(const Network& network);

}  // namespace skyline::space
