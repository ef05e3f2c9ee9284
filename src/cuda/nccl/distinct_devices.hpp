#pragma once

#include "skyline/trial/trial_group.hpp"

#include <string>

namespace skyline::cuda {

/// Collective over the group: checks that each member has a device of its own, as NCCL requires.
/// @param machine  the same on all ranks of a machine, in every container
/// @param bus_id   of this member's device
/// @throws UserError on all members if two of them use the same device
void check_distinct_devices(trial::TrialGroup& group, const std::string& machine, const std::string& bus_id);

/// A name of this machine that is valid until it reboots.
std::string machine_name();

}  // namespace skyline::cuda
