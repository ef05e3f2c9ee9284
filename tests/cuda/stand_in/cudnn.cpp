#include "stand_in.hpp"

#include <cstddef>
#include <cstdint>

// The parts of cuDNN that training uses: its backend of plans, and batch normalization.

struct StandInDescriptor {
  int type = 0;
};

namespace {

constexpr int kExecutionPlan = 5;       // CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR
constexpr int kForward = 10;            // CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR
constexpr int kBackwardData = 12;       // CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR
constexpr int kNumericalNotes = 1303;   // CUDNN_ATTR_ENGINE_NUMERICAL_NOTE
constexpr int kNondeterministic = 4;    // CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC
constexpr int kHeuristicResults = 202;  // CUDNN_ATTR_ENGINEHEUR_RESULTS
constexpr int kInt64 = 3;               // CUDNN_TYPE_INT64

/// Type of the operation for which the thread makes plans.
thread_local int operation = 0;

/// Returns whether an engine for the thread's operation adds in no fixed order: STAND_IN_NONDETERMINISTIC=1
/// leaves the backward passes of convolutions no other.
bool is_nondeterministic() {
  return operation != kForward && stand_in_setting("NONDETERMINISTIC", 0) != 0;
}

}  // namespace

extern "C" {

std::size_t cudnnGetVersion() {
  return 91900;
}

std::size_t cudnnGetCudartVersion() {
  return 13000;
}

const char* cudnnGetErrorString(int) {
  return "an error of the stand-in";
}

void cudnnGetLastErrorString(char* text, std::size_t size) {
  if (size > 0) text[0] = '\0';
}

int cudnnCreate(StandInHandle** handle) {
  *handle = new StandInHandle;
  return stand_in_check_call("cudnnCreate");
}

int cudnnDestroy(StandInHandle* handle) {
  delete handle;
  return 0;
}

int cudnnSetStream(StandInHandle* handle, CUstream_st* stream) {
  handle->stream = stream;
  return 0;
}

int cudnnGetStream(StandInHandle* handle, CUstream_st** stream) {
  *stream = handle->stream;
  return 0;
}

int cudnnBackendCreateDescriptor(int type, StandInDescriptor** descriptor) {
  if (type >= kForward && type <= kBackwardData) operation = type;
  *descriptor = new StandInDescriptor{type};
  return 0;
}

int cudnnBackendDestroyDescriptor(StandInDescriptor* descriptor) {
  delete descriptor;
  return 0;
}

int cudnnBackendSetAttribute(StandInDescriptor*, int, int, std::int64_t, const void*) {
  return 0;
}

int cudnnBackendFinalize(StandInDescriptor* descriptor) {
  if (descriptor->type == kExecutionPlan) stand_in_count("plans");
  return 0;
}

/// Offers one engine, which needs no work space.
int cudnnBackendGetAttribute(StandInDescriptor*, int name, int type, std::int64_t wanted, std::int64_t* count,
                             void* values) {
  if (name == kNumericalNotes) {
    *count = is_nondeterministic() ? 1 : 0;
    if (*count > 0 && values != nullptr) *static_cast<int*>(values) = kNondeterministic;
    return 0;
  }
  if (count != nullptr) *count = name == kHeuristicResults || type == kInt64 ? 1 : 0;
  if (type == kInt64 && values != nullptr && wanted > 0) *static_cast<std::int64_t*>(values) = 0;
  return 0;
}

int cudnnBackendExecute(StandInHandle* handle, StandInDescriptor*, StandInDescriptor*) {
  return stand_in_queue(handle->stream, "cudnnBackendExecute");
}

int cudnnGetBatchNormalizationForwardTrainingExWorkspaceSize(void*, int, int, void*, void*, void*, void*,
                                                             void*, std::size_t* bytes) {
  *bytes = 0;
  return 0;
}

int cudnnGetBatchNormalizationBackwardExWorkspaceSize(void*, int, int, void*, void*, void*, void*, void*,
                                                      void*, void*, std::size_t* bytes) {
  *bytes = 0;
  return 0;
}

int cudnnGetBatchNormalizationTrainingExReserveSpaceSize(void*, int, int, void*, void*, std::size_t* bytes) {
  *bytes = 0;
  return 0;
}
}
