#pragma once

#include "skyline/space/network.hpp"
#include "skyline/space/window.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace skyline::space {

/// Number of a tensor of an int8 network: 0 is the network's input after its normalization.
using Int8Tensor = std::size_t;

/// The work of one step of an int8 network. All but kAttention and kLayer have int8 kernels in the usual
/// runtimes. Those two are computed in float32 between two grids.
enum class Int8Op {
  kConvolution,  // products with weights; linear layers and norms by channel have kernel 1
  kAdd,          // sum of two tensors of one shape
  kMultiply,     // product of two tensors of one shape, or of a tensor and the second's one value per channel
  kConcat,       // channels, one input after the other
  kMaxPool,
  kAveragePool,  // padded places do not count
  kMean,         // over all places of a channel
  kMaximum,      // over all places of a channel
  kClamp,
  kSigmoid,
  kHardSigmoid,
  kHardSwish,
  kTanh,
  kSoftmax,    // over the channels of a place
  kView,       // the same values in another shape
  kZeros,      // has no inputs
  kAttention,  // queries, keys and values; queries are already divided by the root of a head's channels
  kLayer,      // the whole layer by its own definition
};

/// The products of a convolution with weights of its layer.
struct Int8Products {
  std::string weight = {};  // tensor [outputs, inputs / groups, ...]; empty: all weights are 1, one per group
  std::string bias = {};    // tensor [outputs]; empty for none
  Window window = {};       // movement of the weights over the input
  std::int64_t groups = 1;  // parts of the channels
  double factor = 1;        // multiplies weights and bias
  std::vector<std::size_t> norms = {};  // layers that scale and shift the products by channel, in order
};

/// Takes down a layer as steps of an int8 network. It is passed to LayerKind::int8, and lives during that
/// call. Batch norms and clamps that follow join the step before them afterwards; kinds need not look at
/// their neighbours.
class Int8Steps {
 public:
  virtual ~Int8Steps() = default;
  virtual const Layer& layer() const = 0;
  /// Returns an input of the layer.
  virtual Int8Tensor input(std::size_t index = 0) const = 0;
  /// Adds a convolution with weights of this layer. @returns its output
  virtual Int8Tensor convolution(Int8Tensor input, const Int8Products& products, const Shape& output) = 0;
  /// Adds the scale and shift by channel of this layer, a batch norm. @returns its output
  virtual Int8Tensor norm(Int8Tensor input) = 0;
  /// Adds max(low, min(high, x)). @returns its output
  virtual Int8Tensor clamp(Int8Tensor input, double low, double high) = 0;
  /// Adds a step without weights, not kClamp or kLayer. @returns its output
  /// @param window  of pools
  /// @param heads   of attention
  virtual Int8Tensor step(Int8Op op, const std::vector<Int8Tensor>& inputs, const Shape& output,
                          const Window& window = {}, std::int64_t heads = 1) = 0;
  /// Adds the whole layer by its own definition in float32. @returns its output
  virtual Int8Tensor in_float() = 0;
};

}  // namespace skyline::space
