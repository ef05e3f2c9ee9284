#pragma once

#include "skyline/trial/trial_group.hpp"

#include "core/system/unique_handle.hpp"

#include <chrono>
#include <functional>
#include <string>

#include <nccl.h>

namespace skyline::cuda {

/// Returns e.g. "ncclAllReduce: unhandled cuda error: ...", with NCCL's last error.
std::string nccl_error_text(ncclResult_t status, const char* call, ncclComm_t communicator = nullptr);

/// Returns e.g. "2.28.9".
std::string nccl_version();

/// Closes a communicator by aborting it, for which no other member is needed.
struct CommunicatorTraits {
  using Type = ncclComm_t;
  static constexpr Type kNull = nullptr;
  static void close(Type communicator) noexcept { static_cast<void>(ncclCommAbort(communicator)); }
};
using CommunicatorHandle = UniqueHandle<CommunicatorTraits>;

/// Waits, sleeping, until NCCL has finished its last operation on a nonblocking communicator.
/// @param meanwhile  called again and again; may throw
/// @return           NCCL's result; ncclInProgress if it takes longer than `limit`
ncclResult_t settle(ncclComm_t communicator, std::chrono::steady_clock::duration limit,
                    const std::function<void()>& meanwhile);

/// Makes a nonblocking communicator of the group, which can be left when a member is lost. The member's
/// device must be current. Collective over the group.
/// @throws FaultError with NCCL's text, GroupAborted if a member has given up
CommunicatorHandle connect(trial::TrialGroup& group);

/// Closes it together with the other members, if they have also ended their operations; otherwise aborts it.
void disconnect(CommunicatorHandle communicator) noexcept;

/// Checks that each member has its own device, as NCCL requires. Collective over the group.
/// @param machine  equal on all ranks of a machine, in every container
/// @param bus_id   address of this member's device
/// @throws UserError on all members if two of them use the same device
void check_distinct_devices(trial::TrialGroup& group, const std::string& machine, const std::string& bus_id);

/// Returns a name of this machine that is valid until it reboots.
std::string machine_name();

}  // namespace skyline::cuda
