#pragma once

#include "app/doctor/doctor_findings.hpp"
#include "machine/node_limits.hpp"

#include <optional>

namespace skyline::app {

/// Judges the memory of the node for each of its ranks.
Finding judge_memory(int ranks_of_node, const machine::NodeLimits& limits);

/// Judges /dev/shm, through which ranks of a node exchange messages; nothing if it is large enough.
std::optional<Finding> judge_shared_memory(int ranks_of_node, const machine::NodeLimits& limits);

/// Judges the limit of open files, which connections to all other ranks need; nothing if it is high enough.
std::optional<Finding> judge_open_files(int ranks, const machine::NodeLimits& limits);

}  // namespace skyline::app
