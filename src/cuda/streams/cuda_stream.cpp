#include "cuda/streams/cuda_stream.hpp"

#include "skyline/core/error.hpp"

#include "core/backoff.hpp"
#include "cuda/streams/wait_watch.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <string>
#include <utility>

#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/util/Exception.h>

namespace skyline::cuda {
namespace {

using std::chrono::microseconds;

constexpr microseconds kShortestPause{20};
constexpr microseconds kLongestPause{1000};

StreamHandle make_stream_handle(c10::DeviceIndex device) {
  const c10::cuda::CUDAGuard guard(device);
  cudaStream_t stream = nullptr;
  check_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
  return StreamHandle(stream);
}

[[noreturn]] void refuse(const std::string& reason) {
  throw UserError("the work cannot be recorded as a CUDA graph: " + reason.substr(0, reason.find('\n')));
}

/// A CUDA graph that cannot be recorded does not fail the trial, unless the device has no memory left.
void check_recording(cudaError_t status, const char* call) {
  if (status == cudaSuccess || status == cudaErrorMemoryAllocation) {
    check_cuda(status, call);
    return;
  }
  drop_cuda_error(status);
  refuse(std::string(call) + ": " + cudaGetErrorString(status));
}

/// A recording in progress. In all cases the destructor leaves stream and allocator usable. LibTorch's own
/// at::cuda::CUDAGraph does not: where a capture fails, its capture_end() throws before the allocator is
/// told, which then returns no memory for the life of the process.
class Recording {
 public:
  Recording(cudaStream_t stream, GraphMemory& memory)
      : stream_(stream), memory_(memory), share_(memory.begin(stream)) {
    // Calls of other threads do not affect this recording.
    const cudaError_t status = cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal);
    if (status != cudaSuccess) {
      memory_.end();
      check_recording(status, "cudaStreamBeginCapture");
    }
  }
  ~Recording() {
    if (is_open_) drop_cuda_error(close());
  }
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

  /// A recording that another thread has broken is no reason to give the trial up.
  void call(const std::function<void()>& work) const {
    try {
      work();
    } catch (const FaultError& error) {
      if (!is_invalidated(stream_)) throw;
      refuse(error.what());
    }
  }
  void finish() { check_recording(close(), "cudaStreamEndCapture"); }
  GraphHandle take_graph() { return std::move(graph_); }
  GraphShare take_share() { return std::move(share_); }

 private:
  cudaError_t close() {
    is_open_ = false;
    cudaGraph_t graph = nullptr;
    const cudaError_t status = cudaStreamEndCapture(stream_, &graph);
    graph_ = GraphHandle(graph);
    memory_.end();
    return status;
  }

  cudaStream_t stream_;
  GraphMemory& memory_;
  GraphShare share_;
  GraphHandle graph_;
  bool is_open_ = true;
};

/// Operations of a group keep the priority of their branch instead of that of the graph's stream.
GraphExecHandle instantiate(const GraphHandle& graph, cudaStream_t stream) {
  cudaGraphExec_t executable = nullptr;
  check_recording(cudaGraphInstantiate(&executable, graph.get(), cudaGraphInstantiateFlagUseNodePriority),
                  "cudaGraphInstantiate");
  GraphExecHandle handle(executable);
  check_recording(cudaGraphUpload(executable, stream), "cudaGraphUpload");
  return handle;
}

class CudaGraph final : public train::AcceleratorGraph {
 public:
  CudaGraph(CudaStream& owner, const c10::cuda::CUDAStream& stream, GraphExecHandle executable,
            GraphShare share)
      : owner_(owner), stream_(stream), share_(std::move(share)), executable_(std::move(executable)) {}

  ~CudaGraph() override {
    try {
      owner_.wait();
    } catch (const std::exception&) {
      // The device or the group is lost, and the watch has already ended its operations.
    }
    const auto turn = acquire_recording_turn();
    executable_.reset();
    share_.reset();
  }

  void replay() override {
    const c10::cuda::CUDAGuard guard(stream_.device_index());
    check_cuda(cudaGraphLaunch(executable_.get(), stream_), "cudaGraphLaunch");
  }

 private:
  CudaStream& owner_;
  c10::cuda::CUDAStream stream_;
  GraphShare share_;
  GraphExecHandle executable_;
};

}  // namespace

CudaStream::CudaStream(int device)
    : device_(static_cast<c10::DeviceIndex>(device)),
      handle_(make_stream_handle(device_)),
      done_(make_event(device)),
      stream_(c10::cuda::getStreamFromExternal(handle_.get(), device_)),
      graph_memory_(device_) {}

void CudaStream::run(const std::function<void()>& work) {
  const c10::cuda::CUDAStreamGuard guard(stream_);
  work();
}

std::unique_ptr<train::AcceleratorGraph> CudaStream::capture(const std::function<void()>& work) {
  const auto turn = acquire_recording_turn();
  const c10::cuda::CUDAStreamGuard guard(stream_);
  try {
    return record(work);
  } catch (const c10::OutOfMemoryError&) {
    GraphMemory::let_go();
    if (GroupUse::any()) throw;
  }
  // While it records, the allocator only takes new memory and releases nothing from its cache.
  c10::cuda::CUDACachingAllocator::emptyCache();
  return record(work);
}

std::unique_ptr<train::AcceleratorGraph> CudaStream::record(const std::function<void()>& work) {
  try {
    Recording recording(stream_, graph_memory_);
    recording.call(work);
    recording.finish();
    const GraphHandle graph = recording.take_graph();
    GraphExecHandle executable = instantiate(graph, stream_);
    return std::make_unique<CudaGraph>(*this, stream_, std::move(executable), recording.take_share());
  } catch (const c10::OutOfMemoryError&) {
    throw;
  } catch (const c10::Error& error) {
    check_usable();
    refuse(error.what_without_backtrace());
  } catch (const UserError&) {
    check_usable();
    throw;
  }
}

void CudaStream::wait() {
  const c10::cuda::CUDAGuard guard(device_);
  check_cuda(cudaEventRecord(done_.get(), stream_), "cudaEventRecord");
  const auto since = WaitWatch::Clock::now();
  for (Backoff backoff(kShortestPause, kLongestPause);; backoff.pause()) {
    const cudaError_t status = cudaEventQuery(done_.get());
    if (status != cudaErrorNotReady) return check_cuda(status, "cudaEventQuery");
    drop_cuda_error(status);
    WaitWatch::call_all(since);
  }
}

}  // namespace skyline::cuda
