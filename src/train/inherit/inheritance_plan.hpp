#pragma once

#include "skyline/space/network.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

namespace skyline::train {

// How a child's initial values come from its parent's trained ones, by the two networks alone. Tensors are
// counted in the order of their network's layers and of the layers' tensors.

/// The indices of one dimension that the tensors of parent and child have in common.
struct CommonRange {
  std::int64_t parent_extent = 1;
  std::int64_t child_extent = 1;
  std::int64_t parent_first = 0;
  std::int64_t child_first = 0;
  std::int64_t count = 1;
};

/// The common block of two tensors is copied. New outputs keep their values; within the other outputs all
/// that is new becomes zero.
struct TakeBlock {
  std::optional<std::size_t> from;  // of the parent; nothing: it lacks the tensor, as if it were zero
  std::size_t to = 0;               // of the child
  std::vector<CommonRange> dims;    // of the tensors, their axes split as in space::tensor_axes
  std::size_t output_dims = 0;      // the first of them are those of the outputs
};

/// A convolution or linear layer gives its input as its first outputs.
struct PassOn {
  std::size_t weight = 0;
  std::optional<std::size_t> bias;
  std::int64_t channels = 0;  // of its input
};

/// A batch norm gives its input, which is what another one gives, or what a ReLU leaves of that.
struct PassOnNorm {
  std::size_t weight = 0;
  std::size_t bias = 0;
  std::size_t running_mean = 0;
  std::size_t running_var = 0;
  double epsilon = 0;
  std::size_t source_weight = 0;  // of the other one: its values when all steps before are done
  std::size_t source_bias = 0;
  bool rectified = false;
  std::int64_t channels = 0;  // the first ones, of which this is known
};

using InheritanceStep = std::variant<TakeBlock, PassOn, PassOnNorm>;

/// To be done in this order on the child's tensors as they were drawn.
/// Local; a function of the arguments.
std::vector<InheritanceStep> plan_inheritance(const space::Network& parent, const space::Network& child);

}  // namespace skyline::train
