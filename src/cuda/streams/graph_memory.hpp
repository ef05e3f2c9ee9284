#pragma once

#include "core/system/unique_handle.hpp"

#include <atomic>
#include <cstddef>
#include <mutex>
#include <set>

#include <c10/core/Stream.h>
#include <c10/cuda/CUDACachingAllocator.h>

namespace skyline::cuda {

/// Waits for the turn to record. Recordings of a process exclude each other, and calls that the allocator
/// refuses during a recording.
std::unique_lock<std::mutex> acquire_recording_turn();

/// Exists while a member of a group uses a device of the process. Meanwhile no memory is returned to a
/// device: CUDA would wait there for all queued work, NCCL's operations wait for other processes, and those
/// may be waiting in the same way.
class GroupUse {
 public:
  GroupUse() { ++uses_; }
  ~GroupUse() { --uses_; }
  GroupUse(const GroupUse&) = delete;
  GroupUse& operator=(const GroupUse&) = delete;

  static bool any() { return uses_ > 0; }

 private:
  static inline std::atomic<int> uses_ = 0;
};

/// Returns what the allocator has of a kind now, e.g. DeviceStats::reserved_bytes.
std::size_t bytes_of(const c10::CachingAllocator::StatArray& amounts);

class GraphMemory;

/// A graph's share in the memory of its stream's graphs. It is released within a turn.
struct GraphShareTraits {
  using Type = GraphMemory*;
  static constexpr Type kNull = nullptr;
  static void close(Type memory) noexcept;
};
using GraphShare = UniqueHandle<GraphShareTraits>;

/// The device memory of the graphs of one stream. They never run at the same time, so they share it. When the
/// last graph is gone it is kept for the next one if the process holds little of the device, since CUDA waits
/// for all work of a device before it takes memory back. While there is a GroupUse it is left to the
/// allocator, else it returns to the device. Used within a turn; destroyed outside of one.
class GraphMemory {
 public:
  explicit GraphMemory(c10::DeviceIndex device) : device_(device) {}
  ~GraphMemory();
  GraphMemory(const GraphMemory&) = delete;
  GraphMemory& operator=(const GraphMemory&) = delete;

  /// Directs allocations for the stream into the memory of the graphs, until end().
  GraphShare begin(cudaStream_t stream);
  void end();
  /// Leaves to the allocator what is kept without a graph, so that it can return it to the devices.
  static void let_go() noexcept;

 private:
  friend GraphShareTraits;
  void leave() noexcept;
  void release() const noexcept;
  void give_back() noexcept;

  static inline std::set<GraphMemory*> kept_;  // have a share in their pool, and no graph
  c10::DeviceIndex device_;
  c10::MempoolId_t pool_{0, 0};
  std::size_t graphs_ = 0;
};

}  // namespace skyline::cuda
