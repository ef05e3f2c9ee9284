#pragma once

#include "skyline/trial/trial_group.hpp"

#include "cuda/nccl/check_nccl.hpp"

#include <chrono>
#include <functional>
#include <string>

namespace skyline::cuda {

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
