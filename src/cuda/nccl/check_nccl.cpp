#include "cuda/nccl/check_nccl.hpp"

#include "skyline/core/error.hpp"

namespace skyline::cuda {

std::string nccl_error_text(ncclResult_t status, const char* call, ncclComm_t communicator) {
  std::string text = std::string(call) + ": " + ncclGetErrorString(status);
  const char* details = ncclGetLastError(communicator);
  if (details != nullptr && *details != '\0') {
    const std::string all(details);
    text += ": " + all.substr(0, all.find('\n'));
  }
  return text;
}

void check_nccl(ncclResult_t status, const char* call) {
  if (status != ncclSuccess) {
    throw FaultError(nccl_error_text(status, call));
  }
}

std::string nccl_version() {
  int version = 0;  // 22809 for 2.28.9
  check_nccl(ncclGetVersion(&version), "ncclGetVersion");
  return std::to_string(version / 10000) + "." + std::to_string(version % 10000 / 100) + "." +
         std::to_string(version % 100);
}

}  // namespace skyline::cuda
