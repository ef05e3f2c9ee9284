#pragma once

#include "app/doctor/doctor_findings.hpp"
#include "comm/environment.hpp"
#include "machine/node_limits.hpp"

#include <vector>

namespace skyline::app {

/// Compares the cores of a rank with the threads that it is to run.
/// @param threads   of a slot
/// @param launcher  the launcher whose options are named
Finding judge_cores(const comm::NodePlace& place, int threads, comm::Launcher launcher);

/// Compares the cores of a node's ranks with each other and with those of the node; returns the problems.
/// @param place  of the node's first rank
std::vector<Finding> judge_node_cores(const comm::NodePlace& place, const machine::NodeLimits& limits,
                                      comm::Launcher launcher);

}  // namespace skyline::app
