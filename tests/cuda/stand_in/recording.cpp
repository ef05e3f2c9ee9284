#include "state.hpp"

#include <cstdio>
#include <memory>
#include <utility>

// Stream capture and graphs of the CUDA runtime.

using namespace stand_in;

namespace {

/// Returns the error of ending a recording on a stream.
cudaError_t error_at_end(const Recording& recording, CUstream_st& stream) {
  if (recording.origin != &stream) {
    return violate("a recording is ended on another stream", cudaErrorStreamCaptureUnmatched);
  }
  if (recording.thread != thread_id() && recording.mode != cudaStreamCaptureModeRelaxed) {
    return violate("a recording is ended by another thread", cudaErrorStreamCaptureWrongThread);
  }
  if (!recording.broken_by.empty()) return fail(cudaErrorStreamCaptureInvalidated);
  std::set<CUstream_st*> forked = recording.forked;
  forked.erase(&stream);
  if (!forked.empty()) return violate("a forked stream is not joined", cudaErrorStreamCaptureUnjoined);
  return cudaSuccess;
}

}  // namespace

extern "C" {

cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
  std::swap(*mode, this_thread().mode);
  return cudaSuccess;
}

cudaError_t cudaStreamIsCapturing(cudaStream_t handle, cudaStreamCaptureStatus* status) {
  const std::lock_guard lock(state().mutex);
  const Recording* recording = stream_of(handle).recording;
  *status = recording == nullptr           ? cudaStreamCaptureStatusNone
            : recording->broken_by.empty() ? cudaStreamCaptureStatusActive
                                           : cudaStreamCaptureStatusInvalidated;
  return cudaSuccess;
}

// CUDA 13 added the edges.
cudaError_t cudaStreamGetCaptureInfo(cudaStream_t handle, cudaStreamCaptureStatus* status,
                                     unsigned long long* id, cudaGraph_t* graph,
                                     const cudaGraphNode_t** dependencies,
#if CUDART_VERSION >= 13000
                                     const cudaGraphEdgeData** edges,
#endif
                                     std::size_t* count) {
#if CUDART_VERSION >= 13000
  if (edges != nullptr) *edges = nullptr;
#endif
  const std::lock_guard lock(state().mutex);
  const Recording* recording = stream_of(handle).recording;
  if (recording != nullptr && id != nullptr) *id = recording->id;
  if (graph != nullptr) *graph = nullptr;
  if (dependencies != nullptr) *dependencies = nullptr;
  if (count != nullptr) *count = 0;
  return cudaStreamIsCapturing(handle, status);
}

cudaError_t cudaStreamBeginCapture(cudaStream_t handle, cudaStreamCaptureMode mode) {
  const std::lock_guard lock(state().mutex);
  if (is_device_broken()) return fail(cudaErrorIllegalAddress);
  CUstream_st& stream = stream_of(handle);
  if (is_legacy(stream)) {
    return violate("a recording of the legacy stream", cudaErrorStreamCaptureUnsupported);
  }
  if (stream.recording != nullptr) {
    return violate("a recording of a stream that is recorded", cudaErrorIllegalState, stream.recording);
  }
  auto recording = std::make_unique<Recording>();
  recording->id = ++state().last_recording;
  recording->mode = mode;
  recording->thread = thread_id();
  recording->origin = &stream;
  recording->streams.insert(&stream);
  stream.recording = recording.get();
  state().recordings.insert(recording.release());
  ++state().counts["recordings"];
  return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t handle, cudaGraph_t* graph) {
  const std::lock_guard lock(state().mutex);
  CUstream_st& stream = stream_of(handle);
  *graph = nullptr;
  if (stream.recording == nullptr) return fail(cudaErrorIllegalState);
  const std::unique_ptr<Recording> recording(stream.recording);
  const cudaError_t error = error_at_end(*recording, stream);
  for (CUstream_st* one : recording->streams) one->recording = nullptr;
  state().recordings.erase(recording.get());
  if (is_device_broken()) return fail(cudaErrorIllegalAddress);
  if (error != cudaSuccess) {
    ++state().counts["refused_recordings"];
    return error;
  }
  state().graphs.push_back(recording->nodes);
  *graph = new CUgraph_st{std::move(recording->nodes)};
  return cudaSuccess;
}

cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* executable, cudaGraph_t, unsigned long long) {
  if (const cudaError_t error = check_call("cudaGraphInstantiate")) return error;
  *executable = new CUgraphExec_st;
  return cudaSuccess;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph, unsigned long long flags) {
  return cudaGraphInstantiateWithFlags(executable, graph, flags);
}

cudaError_t cudaGraphUpload(cudaGraphExec_t, cudaStream_t) {
  const std::lock_guard lock(state().mutex);
  return is_device_broken() ? fail(cudaErrorIllegalAddress) : cudaSuccess;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t, cudaStream_t handle) {
  delay();
  const std::lock_guard lock(state().mutex);
  if (is_device_broken()) return fail(cudaErrorIllegalAddress);
  CUstream_st& stream = stream_of(handle);
  ++state().counts["replays"];
  if (stream.is_destroyed) return violate("a graph on a destroyed stream", cudaErrorInvalidResourceHandle);
  if (stream.recording == nullptr) return cudaSuccess;
  return violate("a graph inside a recording", cudaErrorStreamCaptureUnsupported, stream.recording);
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable) {
  const cudaError_t error = check_call("cudaGraphExecDestroy");
  delete executable;
  return error;
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  delete graph;
  return cudaSuccess;
}

cudaError_t cudaGraphGetNodes(cudaGraph_t, cudaGraphNode_t*, std::size_t* count) {
  *count = 1;
  return cudaSuccess;
}
}
