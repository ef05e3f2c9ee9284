#pragma once

#include "stand_in.hpp"

#include <cstddef>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include <cuda_runtime_api.h>
#include <sys/types.h>

namespace stand_in {

/// Work by name, with how often it occurs.
using Work = std::map<std::string, int>;

/// A stream capture that is under way.
struct Recording {
  unsigned long long id = 0;
  cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal;
  pid_t thread = 0;
  CUstream_st* origin = nullptr;
  std::string broken_by;  // empty while it is sound
  std::set<CUstream_st*> streams;
  std::set<CUstream_st*> forked;  // streams whose work the origin does not wait for yet
  Work nodes;
};

}  // namespace stand_in

struct CUstream_st {
  int device = 0;
  bool is_blocking = false;  // waits for the legacy stream
  bool is_destroyed = false;
  stand_in::Recording* recording = nullptr;
  unsigned long long recorded = 0;  // number of nodes recorded on it
};

struct CUevent_st {
  int device = 0;
  CUstream_st* stream = nullptr;     // nullptr until it is recorded
  unsigned long long recording = 0;  // id of the recording that it belongs to; 0 for none
  unsigned long long recorded = 0;   // the stream's number at that time
};

struct CUgraph_st {
  stand_in::Work nodes;
};

struct CUgraphExec_st {};

namespace stand_in {

/// The state of the process. Its mutex guards everything, streams and events too.
struct State {
  std::recursive_mutex mutex;
  std::map<std::string, long> counts;
  std::vector<std::string> violations;
  std::map<int, std::string> contexts;  // call that made the context, by device
  std::map<int, std::size_t> bytes;     // in use, by device
  std::map<int, std::size_t> most_bytes;
  std::set<Recording*> recordings;
  Work eager;                                  // work outside of recordings
  std::vector<Work> graphs;                    // nodes of all graphs
  std::map<const void*, std::string> kernels;  // names, by the host's function
  unsigned long long last_recording = 0;       // id
  int broken_device = -1;                      // broken by a recording, as asked
};
State& state();

/// The state of the calling thread.
struct Thread {
  int device = 0;
  cudaError_t last_error = cudaSuccess;
  cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal;
};
Thread& this_thread();

/// Notes an error for cudaGetLastError, and returns it.
cudaError_t fail(cudaError_t error);

/// Makes a context on the current device unless there is one.
void use_context(const char* call);

/// Returns whether the current device is to fail from now on.
bool is_device_broken();

/// Returns the stream of a handle: a device's legacy stream for the special handles.
CUstream_st& stream_of(cudaStream_t handle);
bool is_legacy(const CUstream_st& stream);

/// Takes a random time of at most STAND_IN_DELAY_US, so that slots meet in other orders: before every launch.
void delay();

/// Notes a broken rule that also breaks a recording, if there is one. Returns the error.
cudaError_t violate(const std::string& text, cudaError_t error, Recording* recording = nullptr);

pid_t thread_id();
std::size_t device_memory();

/// The checks as typed errors.
cudaError_t check_call(const char* name);
cudaError_t queue(cudaStream_t stream, const std::string& name);

}  // namespace stand_in
