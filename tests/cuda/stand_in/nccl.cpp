#include "stand_in.hpp"

#include <atomic>
#include <cstddef>
#include <cstring>
#include <string>

#include <nccl.h>
#include <unistd.h>

// NCCL without other processes: an operation is work on its stream, and waits for nobody.

struct ncclComm {
  int device = 0;
  bool is_blocking = true;
  std::atomic<int> in_progress = 0;  // how often ncclCommGetAsyncError still says so
};

namespace {

constexpr int kLooksUntilDone = 2;

ncclResult_t begin(ncclComm& communicator) {
  if (communicator.is_blocking) return ncclSuccess;
  communicator.in_progress = kLooksUntilDone;
  return ncclInProgress;
}

ncclResult_t operate(ncclComm_t communicator, cudaStream_t stream, const char* name) {
  if (communicator->device != stand_in_current_device()) {
    stand_in_violation((std::string(name) + " while another device is current").c_str());
  }
  if (communicator->in_progress > 0) {
    stand_in_violation((std::string(name) + " while another call is in progress").c_str());
  }
  stand_in_count("collectives");
  return stand_in_queue(stream, name) == 0 ? begin(*communicator) : ncclUnhandledCudaError;
}

}  // namespace

extern "C" {

ncclResult_t ncclGetVersion(int* version) {
  *version = NCCL_VERSION_CODE;
  return ncclSuccess;
}

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  std::memset(id, 1, sizeof *id);
  return ncclSuccess;
}

const char* ncclGetErrorString(ncclResult_t) {
  return "an error of the stand-in";
}

const char* ncclGetLastError(ncclComm_t) {
  return "";
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t* communicator, int, ncclUniqueId, int, ncclConfig_t* config) {
  if (stand_in_check_call("ncclCommInitRankConfig") != 0) return ncclUnhandledCudaError;
  stand_in_count("communicators");
  *communicator = new ncclComm;
  (*communicator)->device = stand_in_current_device();
  (*communicator)->is_blocking = config->blocking != 0;
  return begin(**communicator);
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t communicator, ncclResult_t* state) {
  *state = communicator->in_progress > 0 ? ncclInProgress : ncclSuccess;
  if (communicator->in_progress > 0) --communicator->in_progress;
  return ncclSuccess;
}

ncclResult_t ncclCommFinalize(ncclComm_t communicator) {
  return begin(*communicator);
}

ncclResult_t ncclCommDestroy(ncclComm_t communicator) {
  if (stand_in_check_call("ncclCommDestroy") != 0) return ncclUnhandledCudaError;
  delete communicator;
  return ncclSuccess;
}

/// With STAND_IN_ABORT_HANGS it never returns, as it was seen where a process of the node had been killed.
ncclResult_t ncclCommAbort(ncclComm_t communicator) {
  stand_in_count("aborts");
  stand_in_check_call("ncclCommAbort");
  while (stand_in_setting("ABORT_HANGS", 0) != 0) sleep(1);
  delete communicator;
  return ncclSuccess;
}

ncclResult_t ncclAllReduce(const void*, void*, std::size_t, ncclDataType_t, ncclRedOp_t,
                           ncclComm_t communicator, cudaStream_t stream) {
  return operate(communicator, stream, "ncclAllReduce");
}

ncclResult_t ncclReduceScatter(const void*, void*, std::size_t, ncclDataType_t, ncclRedOp_t,
                               ncclComm_t communicator, cudaStream_t stream) {
  return operate(communicator, stream, "ncclReduceScatter");
}

ncclResult_t ncclAllGather(const void*, void*, std::size_t, ncclDataType_t, ncclComm_t communicator,
                           cudaStream_t stream) {
  return operate(communicator, stream, "ncclAllGather");
}
}
