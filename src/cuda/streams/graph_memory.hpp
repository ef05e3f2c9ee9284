#pragma once

#include "core/unique_handle.hpp"

#include <cstddef>
#include <mutex>

#include <c10/core/Stream.h>
#include <c10/cuda/CUDACachingAllocator.h>

namespace skyline::cuda {

/// Recordings of a process take turns, and so does what the allocator does not do while one is under way.
std::unique_lock<std::mutex> take_recording_turn();

class GraphMemory;

/// A graph's share in the memory of its stream's graphs. Given back in a turn.
struct GraphShareTraits {
  using Type = GraphMemory*;
  static constexpr Type kNull = nullptr;
  static void close(Type memory) noexcept;
};
using GraphShare = UniqueHandle<GraphShareTraits>;

/// The device memory of the graphs of one stream. They never run at the same time, so they share it; with the
/// last one it goes back to the device (GroupUse: to the allocator), else each candidate would leave its
/// graphs' memory behind. Used in a turn; destroyed outside of one.
class GraphMemory {
 public:
  explicit GraphMemory(c10::DeviceIndex device) : device_(device) {}
  ~GraphMemory();
  GraphMemory(const GraphMemory&) = delete;
  GraphMemory& operator=(const GraphMemory&) = delete;

  /// From here on, until end(), what is allocated for the stream is the graphs' memory.
  GraphShare begin(cudaStream_t stream);
  void end();

 private:
  friend GraphShareTraits;
  void leave() noexcept;
  void give_back() noexcept;

  c10::DeviceIndex device_;
  c10::MempoolId_t pool_{0, 0};
  std::size_t graphs_ = 0;
};

}  // namespace skyline::cuda
