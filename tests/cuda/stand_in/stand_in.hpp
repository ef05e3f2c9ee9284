#pragma once

// The functions by which the libraries of the stand-in share one state; its libcudart has them. The stand-in
// replaces the libraries below LibTorch: memory is the host's, kernels are counted and not run, and the rules
// of stream capture are enforced. docs/internals/gpu.md lists its settings.

struct CUstream_st;  // a stream of CUDA

/// The handle of cuBLAS and cuDNN, with the stream on which it works.
struct StandInHandle {
  CUstream_st* stream = nullptr;
};

extern "C" {

/// Returns the number in the environment variable STAND_IN_<name>, or the other number if it is not set.
long stand_in_setting(const char* name, long otherwise);

/// Returns how many devices CUDA_VISIBLE_DEVICES lets the process use, and the node's number of each.
int stand_in_devices();
int stand_in_number_on_node(int device);

/// Returns the device that is current in the calling thread.
int stand_in_current_device();
/// Returns whether the process has a context on a device.
int stand_in_has_context(int device);

/// Queues work on a stream, or adds it to the stream's recording. Returns a cudaError_t.
int stand_in_queue(CUstream_st* stream, const char* name);

/// Refuses a call that is not allowed while a recording is under way, and breaks the recording, as CUDA does.
/// Returns a cudaError_t.
int stand_in_check_call(const char* name);

/// Counts one more of these in the report.
void stand_in_count(const char* what);

/// Notes a broken rule: one line on standard error, and in the report.
void stand_in_violation(const char* text);

/// Notes the call of a function that the stand-in does not have. Returns cudaErrorNotSupported.
int stand_in_missing(const char* name);
}
