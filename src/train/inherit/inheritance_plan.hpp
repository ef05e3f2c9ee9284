#pragma once

#include "skyline/space/network.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

namespace skyline::train {

// Plans how a child's initial values follow from its parent's trained ones. The plan depends only on the two
// networks. Tensors are numbered in the order of their network's layers and of the layers' tensors.

/// The indices of one dimension that the tensors of parent and child have in common.
struct CommonRange {
  std::int64_t parent_extent = 1;
  std::int64_t child_extent = 1;
  std::int64_t parent_first = 0;
  std::int64_t child_first = 0;
  std::int64_t count = 1;
};

/// A segment of an axis that the tensors of parent and child have in common (space::Axis).
struct CommonSegment {
  std::int64_t parent_first = 0;  // first index in the parent's tensor
  std::int64_t parent_extent = 1;
  std::int64_t child_first = 0;
  std::int64_t child_extent = 1;
  std::vector<CommonRange> dims;  // ranges of its channels, rows and columns, without single indices
};

/// Copies the common block of two tensors. New outputs keep their values; within the other outputs new
/// elements become zero.
struct CopySlice {
  std::optional<std::size_t> from;               // tensor of the parent; without a value it acts as zero
  std::size_t to = 0;                            // tensor of the child
  std::vector<std::vector<CommonSegment>> axes;  // common segments of each axis, outputs first
};

/// Makes a convolution or linear layer return its input as its first outputs.
struct PassOn {
  std::size_t weight = 0;
  std::optional<std::size_t> bias;
  std::int64_t channels = 0;  // number of channels of its input
};

/// Makes a batch norm return its input, which is the output of another batch norm, or of a ReLU after it.
struct PassOnNorm {
  std::size_t weight = 0;
  std::size_t bias = 0;
  std::size_t running_mean = 0;
  std::size_t running_var = 0;
  double epsilon = 0;
  std::size_t source_weight = 0;  // weight of the other batch norm: its values after all earlier steps
  std::size_t source_bias = 0;
  bool rectified = false;
  std::int64_t channels = 0;  // number of first channels whose statistics are known
};

/// Makes a layer return zeros: the last one with weights in a branch that the child adds to a sum.
struct StartAtZero {
  std::size_t weight = 0;
  std::optional<std::size_t> bias;
};

using InheritanceStep = std::variant<CopySlice, PassOn, PassOnNorm, StartAtZero>;

/// Plans the steps, to be executed in order on the drawn tensors of the child. Local; a function of the
/// arguments.
std::vector<InheritanceStep> plan_inheritance(const space::Network& parent, const space::Network& child);

}  // namespace skyline::train
