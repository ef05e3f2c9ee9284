#pragma once

#include "app/doctor/doctor_findings.hpp"
#include "machine/node_limits.hpp"

#include <optional>

namespace skyline::app {

/// Memory of the node for each of its ranks.
Finding judge_memory(int ranks_of_node, const machine::NodeLimits& limits);

/// /dev/shm, by which ranks of a node exchange messages; nothing if it will do.
std::optional<Finding> judge_shared_memory(int ranks_of_node, const machine::NodeLimits& limits);

/// Connections to all other ranks need open files; nothing if there are enough.
std::optional<Finding> judge_open_files(int ranks, const machine::NodeLimits& limits);

}  // namespace skyline::app
