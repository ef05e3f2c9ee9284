#pragma once

#include "app/doctor/doctor_findings.hpp"
#include "comm/environment.hpp"
#include "machine/node_limits.hpp"

#include <vector>

namespace skyline::app {

/// The cores of a rank against the threads that it is to run.
/// @param threads   of a slot
/// @param launcher  whose options are named
Finding judge_cores(const comm::NodePlace& place, int threads, comm::Launcher launcher);

/// The cores of a node's ranks against each other and against what the node has: what is amiss.
/// @param place  of the node's first rank
std::vector<Finding> judge_node_cores(const comm::NodePlace& place, const machine::NodeLimits& limits,
                                      comm::Launcher launcher);

}  // namespace skyline::app
