#pragma once

#include "core/unique_handle.hpp"

#include <string>

#include <nccl.h>

namespace skyline::cuda {

/// "ncclAllReduce: unhandled cuda error: ..."; NCCL knows more of the last error of a communicator.
std::string nccl_error_text(ncclResult_t status, const char* call, ncclComm_t communicator = nullptr);

/// @throws FaultError
void check_nccl(ncclResult_t status, const char* call);

/// "2.28.9"
std::string nccl_version();

/// A communicator is closed by aborting it: no other member need take part in that.
struct CommunicatorTraits {
  using Type = ncclComm_t;
  static constexpr Type kNull = nullptr;
  static void close(Type communicator) noexcept { static_cast<void>(ncclCommAbort(communicator)); }
};
using CommunicatorHandle = UniqueHandle<CommunicatorTraits>;

}  // namespace skyline::cuda
