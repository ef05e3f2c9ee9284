#include "state.hpp"

#include <random>

#include <unistd.h>

// Streams and events of the CUDA runtime. All work is done at once, unless STAND_IN_BUSY_PERCENT makes events
// say that theirs is not done yet.

using namespace stand_in;

namespace {

/// Returns the recording that an event belongs to, if that is still under way.
Recording* recording_of(const CUevent_st& event) {
  for (Recording* recording : state().recordings) {
    if (recording->id == event.recording) return recording;
  }
  return nullptr;
}

bool seems_busy() {
  static const long percent = stand_in_setting("BUSY_PERCENT", 0);
  static std::minstd_rand random;  // guarded by the mutex of the state
  constexpr unsigned kHundred = 100;
  return percent > 0 && static_cast<long>(random() % kHundred) < percent;
}

/// Refuses to ask for the state of a stream that is recorded.
cudaError_t check_not_recorded(cudaStream_t handle, const char* call) {
  if (const cudaError_t error = check_call(call)) return error;
  Recording* recording = stream_of(handle).recording;
  if (recording == nullptr) return cudaSuccess;
  return violate(std::string(call) + " of a stream that is recorded", cudaErrorStreamCaptureUnsupported,
                 recording);
}

/// Refuses to ask for the state of an event that was recorded into a graph.
cudaError_t check_not_recorded(const CUevent_st& event, const char* call) {
  if (const cudaError_t error = check_call(call)) return error;
  if (event.recording == 0) return cudaSuccess;
  return violate(std::string(call) + " of an event of a recording", cudaErrorCapturedEvent,
                 recording_of(event));
}

cudaError_t join(CUstream_st& stream, const CUevent_st& event) {
  Recording* recording = recording_of(event);
  if (recording == nullptr) {
    return violate("a wait for an event of a recording that has ended", cudaErrorCapturedEvent,
                   stream.recording);
  }
  if (stream.recording != nullptr && stream.recording != recording) {
    return violate("a merge of two recordings", cudaErrorStreamCaptureMerge, recording);
  }
  stream.recording = recording;
  recording->streams.insert(&stream);
  if (&stream == event.stream) return cudaSuccess;
  if (event.recorded == event.stream->recorded) recording->forked.erase(event.stream);
  ++stream.recorded;
  recording->forked.insert(&stream);
  return cudaSuccess;
}

}  // namespace

void stand_in::delay() {
  static const auto most_us = static_cast<unsigned>(stand_in_setting("DELAY_US", 0));
  thread_local std::minstd_rand random(static_cast<unsigned>(thread_id()));
  if (most_us > 0) usleep(static_cast<unsigned>(random()) % most_us);
}

extern "C" {

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int) {
  const std::lock_guard lock(state().mutex);
  use_context("cudaStreamCreate");
  ++state().counts["streams"];
  *stream = new CUstream_st;
  (*stream)->device = this_thread().device;
  (*stream)->is_blocking = (flags & cudaStreamNonBlocking) == 0;
  return cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  return cudaStreamCreateWithPriority(stream, flags, 0);
}

/// Keeps the object, so that later work on it is noticed.
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  const std::lock_guard lock(state().mutex);
  stream->is_destroyed = true;
  return cudaSuccess;
}

cudaError_t cudaStreamQuery(cudaStream_t stream) {
  const std::lock_guard lock(state().mutex);
  return check_not_recorded(stream, "cudaStreamQuery");
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  const std::lock_guard lock(state().mutex);
  ++state().counts["synchronizations"];
  return check_not_recorded(stream, "cudaStreamSynchronize");
}

cudaError_t cudaDeviceSynchronize() {
  stand_in_count("synchronizations");
  return check_call("cudaDeviceSynchronize");
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  const std::lock_guard lock(state().mutex);
  use_context("cudaEventCreate");
  *event = new CUevent_st;
  (*event)->device = this_thread().device;
  return cudaSuccess;
}

cudaError_t cudaEventCreate(cudaEvent_t* event) {
  return cudaEventCreateWithFlags(event, cudaEventDefault);
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  const std::lock_guard lock(state().mutex);
  delete event;
  return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t handle) {
  const std::lock_guard lock(state().mutex);
  if (is_device_broken()) return fail(cudaErrorIllegalAddress);
  CUstream_st& stream = stream_of(handle);
  if (event->device != stream.device) {
    return violate("an event and a stream of two devices", cudaErrorInvalidResourceHandle, stream.recording);
  }
  if (stream.recording != nullptr && !stream.recording->broken_by.empty()) {
    return fail(cudaErrorStreamCaptureInvalidated);
  }
  event->stream = &stream;
  event->recording = stream.recording == nullptr ? 0 : stream.recording->id;
  event->recorded = stream.recorded;
  return cudaSuccess;
}

cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned) {
  return cudaEventRecord(event, stream);
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
  const std::lock_guard lock(state().mutex);
  if (const cudaError_t error = check_not_recorded(*event, "cudaEventQuery")) return error;
  return seems_busy() ? fail(cudaErrorNotReady) : cudaSuccess;
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  const std::lock_guard lock(state().mutex);
  ++state().counts["synchronizations"];
  return check_not_recorded(*event, "cudaEventSynchronize");
}

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t, cudaEvent_t) {
  *milliseconds = 0.01F;
  return cudaSuccess;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t handle, cudaEvent_t event, unsigned) {
  const std::lock_guard lock(state().mutex);
  CUstream_st& stream = stream_of(handle);
  if (event->recording != 0) return join(stream, *event);
  if (stream.recording == nullptr || event->stream == nullptr) return cudaSuccess;
  return violate("a recorded stream waits for work outside of its recording", cudaErrorStreamCaptureIsolation,
                 stream.recording);
}
}
