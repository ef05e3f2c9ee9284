#include "cuda/streams/graph_memory.hpp"

#include <exception>

#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDAGuard.h>

namespace skyline::cuda {

namespace allocator = c10::cuda::CUDACachingAllocator;

std::unique_lock<std::mutex> take_recording_turn() {
  static std::mutex turns;
  return std::unique_lock(turns);
}

GraphMemory::~GraphMemory() {
  const auto turn = take_recording_turn();
  give_back();
}

void GraphShareTraits::close(GraphMemory* memory) noexcept {
  memory->leave();
}

GraphShare GraphMemory::begin(cudaStream_t stream) {
  if (graphs_ == 0) {
    give_back();  // tensors of the last graphs may have outlived the graphs
    pool_ = at::cuda::graph_pool_handle();
  }
  allocator::beginAllocateToPool(device_, pool_, [stream](cudaStream_t other) { return other == stream; });
  ++graphs_;
  return GraphShare(this);
}

void GraphMemory::end() {
  allocator::endAllocateToPool(device_, pool_);
}

void GraphMemory::leave() noexcept {
  --graphs_;
  try {
    allocator::releasePool(device_, pool_);
  } catch (const std::exception&) {
    return;  // the device is lost, and its memory with it
  }
  if (graphs_ == 0) give_back();
}

void GraphMemory::give_back() noexcept {
  if (pool_ == c10::MempoolId_t{0, 0}) {
    return;  // returning it would empty the cache of all streams
  }
  if (GroupUse::any()) {
    return;  // the allocator returns it when its memory runs out, or with its cache
  }
  try {
    const c10::cuda::CUDAGuard guard(device_);  // cudaFree makes a context on the current device
    allocator::emptyCache(pool_);
  } catch (const std::exception&) {
    // The device is lost, and its memory with it.
  }
}

}  // namespace skyline::cuda
