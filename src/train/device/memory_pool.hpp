#pragma once

#include <cstddef>
#include <cstdint>

namespace skyline::train {

/// Makes LibTorch keep freed CPU memory for the next tensor of the same size, in one list per thread. A
/// training step frees and allocates the same large blocks repeatedly; fresh pages from the system would cost
/// more than the arithmetic of small networks. Large blocks use huge pages if the system offers them. Call
/// once per process, before the first tensor.
void install_memory_pool();

/// Returns the free bytes that the pool keeps for the calling thread.
std::size_t pooled_bytes();

/// Returns the calling thread's free blocks to the system, the largest first, until `keep` bytes are left.
void trim_memory_pool(std::size_t keep);

/// Bytes of the blocks of the calling thread's tensors. A tensor that another thread frees still counts.
struct TensorBytes {
  std::int64_t now = 0;
  std::int64_t most = 0;  // largest value since count_most_anew()
};
TensorBytes tensor_bytes();
void count_most_anew();

}  // namespace skyline::train
