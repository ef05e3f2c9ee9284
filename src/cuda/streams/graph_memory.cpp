#include "cuda/streams/graph_memory.hpp"

#include <exception>
#include <utility>

#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDAGuard.h>

namespace skyline::cuda {

namespace allocator = c10::cuda::CUDACachingAllocator;

namespace {

/// Share of a device's memory up to which a process keeps what its graphs leave.
constexpr double kKept = 1.0 / 40;

bool holds_little(c10::DeviceIndex device) {
  const auto held = static_cast<double>(bytes_of(allocator::getDeviceStats(device).reserved_bytes));
  return held <= kKept * static_cast<double>(at::cuda::getDeviceProperties(device)->totalGlobalMem);
}

}  // namespace

std::unique_lock<std::mutex> acquire_recording_turn() {
  static std::mutex turns;
  return std::unique_lock(turns);
}

std::size_t bytes_of(const c10::CachingAllocator::StatArray& amounts) {
  constexpr auto kAll = static_cast<std::size_t>(c10::CachingAllocator::StatType::AGGREGATE);
  return static_cast<std::size_t>(amounts.at(kAll).current);
}

GraphMemory::~GraphMemory() {
  const auto turn = acquire_recording_turn();
  if (kept_.erase(this) > 0) release();
}

void GraphShareTraits::close(GraphMemory* memory) noexcept {
  memory->leave();
}

GraphShare GraphMemory::begin(cudaStream_t stream) {
  if (graphs_ == 0 && !kept_.contains(this)) {
    give_back();  // tensors of the last graphs may have outlived the graphs
    pool_ = at::cuda::graph_pool_handle();
  }
  allocator::beginAllocateToPool(device_, pool_, [stream](cudaStream_t other) { return other == stream; });
  ++graphs_;
  if (kept_.erase(this) > 0) release();  // this graph has a share now
  return GraphShare(this);
}

void GraphMemory::end() {
  allocator::endAllocateToPool(device_, pool_);
}

void GraphMemory::leave() noexcept {
  --graphs_;
  try {
    if (graphs_ == 0 && !GroupUse::any() && holds_little(device_)) {
      kept_.insert(this);
      return;
    }
  } catch (const std::exception&) {  // the device is lost: so is its memory, and nothing is to be kept
  }
  release();
  if (graphs_ == 0) give_back();
}

void GraphMemory::let_go() noexcept {
  for (GraphMemory* const memory : std::exchange(kept_, {})) memory->release();
}

/// Takes a share from the pool. One without shares is the allocator's, to be returned to the device.
void GraphMemory::release() const noexcept {
  try {
    allocator::releasePool(device_, pool_);
  } catch (const std::exception&) {
    // The device is lost, and its memory with it.
  }
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
