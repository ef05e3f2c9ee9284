#pragma once

#include "app/doctor/doctor_findings.hpp"
#include "machine/device_binding.hpp"
#include "machine/node_limits.hpp"

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace skyline::app {

/// The facts about messages between nodes.
struct FabricFacts {
  machine::RankView node = {};  // with its ports and the devices that this rank sees
  int node_count = 1;
  std::optional<std::uint64_t> locked_memory_bytes = {};  // nothing: no limit
  bool direct_transfers = false;                          // the driver lets adapters read a GPU's memory
  std::vector<std::string> mpi_components =
      {};  // through which MPI sends, "pml_ob1", "btl_tcp"; empty: unknown
};

/// @param node  with its ports and devices @param root  of the file system; "/" but for tests
FabricFacts read_fabric_facts(const machine::RankView& node, int node_count,
                              const machine::NodeLimits& limits, const std::filesystem::path& root);

/// Components of Open MPI for sending that a process has loaded. @param maps  text of /proc/self/maps
std::vector<std::string> mpi_components(std::string_view maps);

/// Judges InfiniBand or RoCE adapters, the memory that they need, and whether MPI uses them.
std::vector<Finding> judge_fabric(const FabricFacts& facts);

}  // namespace skyline::app
