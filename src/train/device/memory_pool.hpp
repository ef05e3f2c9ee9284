#pragma once

#include <cstddef>
#include <cstdint>

namespace skyline::train {

/// Makes LibTorch keep freed CPU memory for the next tensor of the same size, in one list per thread. A
/// training step frees and asks for the same large blocks again and again; from the system each would come as
/// fresh pages, whose faults cost more than the arithmetic of small networks. Large blocks lie on huge pages
/// where the system offers them. Once per process; call before the first tensor.
void install_memory_pool();

/// Free bytes that the pool keeps for the calling thread.
std::size_t pooled_bytes();

/// Returns what the pool keeps for the calling thread to the system, the largest blocks first, until at most
/// `keep` bytes are left.
void trim_memory_pool(std::size_t keep);

/// What the calling thread's tensors take, in bytes of blocks; one that another thread frees counts on.
struct TensorBytes {
  std::int64_t now = 0;
  std::int64_t most = 0;  // since count_most_anew()
};
TensorBytes tensor_bytes();
void count_most_anew();

}  // namespace skyline::train
