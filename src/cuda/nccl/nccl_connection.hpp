#pragma once

#include "skyline/trial/trial_group.hpp"

#include "core/system/unique_handle.hpp"

#include <chrono>
#include <functional>
#include <string>

#include <nccl.h>

namespace skyline::cuda {

/// "ncclAllReduce: unhandled cuda error: ..."; NCCL knows more of the last error of a communicator.
std::string nccl_error_text(ncclResult_t status, const char* call, ncclComm_t communicator = nullptr);

/// "2.28.9"
std::string nccl_version();

/// A communicator is closed by aborting it: no other member need take part in that.
struct CommunicatorTraits {
  using Type = ncclComm_t;
  static constexpr Type kNull = nullptr;
  static void close(Type communicator) noexcept { static_cast<void>(ncclCommAbort(communicator)); }
};
using CommunicatorHandle = UniqueHandle<CommunicatorTraits>;

/// Waits, sleeping, until NCCL has done what it began on a nonblocking communicator.
/// @param meanwhile  called again and again; may throw
/// @return           NCCL's result; ncclInProgress if it takes longer than `limit`
ncclResult_t settle(ncclComm_t communicator, std::chrono::steady_clock::duration limit,
                    const std::function<void()>& meanwhile);

/// Collective over the group, whose member's device is current: a nonblocking communicator, which can be left
/// when a member is lost. @throws FaultError with NCCL's text, GroupAborted if a member has given up
CommunicatorHandle connect(trial::TrialGroup& group);

/// Closes it together with the other members, who have ended their operations, too; aborts it if they do not.
void disconnect(CommunicatorHandle communicator) noexcept;

/// Collective over the group: checks that each member has a device of its own, as NCCL requires.
/// @param machine  the same on all ranks of a machine, in every container
/// @param bus_id   of this member's device
/// @throws UserError on all members if two of them use the same device
void check_distinct_devices(trial::TrialGroup& group, const std::string& machine, const std::string& bus_id);

/// A name of this machine that is valid until it reboots.
std::string machine_name();

}  // namespace skyline::cuda
