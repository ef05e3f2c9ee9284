#pragma once

#include <cstddef>
#include <vector>

namespace skyline::model_export {

/// The size of a tensor, and the operators while which it is in memory.
struct TensorLife {
  std::size_t bytes = 0;  // 0 for a tensor that takes no memory
  std::size_t first = 0;  // index of the operator that writes it
  std::size_t last = 0;   // index of the last operator that reads it
};

/// Where each tensor lies in memory.
struct MemoryPlan {
  std::vector<std::size_t> offsets;  // one per tensor
  std::size_t bytes = 0;             // end of the highest tensor
};

/// Places tensors so that those that exist at once don't overlap, in few bytes. The same lives have the same
/// plan. Reaches the sum of what exists at once in all networks that were tried; no plan is smaller.
/// @see Pisarchyk and Lee, Efficient Memory Management for Deep Neural Net Inference, 2020: the first try
MemoryPlan memory_plan(const std::vector<TensorLife>& lives);

}  // namespace skyline::model_export
