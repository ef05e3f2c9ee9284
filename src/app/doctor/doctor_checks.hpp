#pragma once

#include "app/doctor/doctor_findings.hpp"
#include "comm/environment.hpp"
#include "machine/device_binding.hpp"
#include "machine/node.hpp"
#include "store/publish/folder_check.hpp"
#include "train/loading/device_choice.hpp"

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace skyline::app {

/// Judges launcher and library, and whether threads may communicate.
Finding check_launcher(comm::Environment& environment);
/// Judges the time that the batch system leaves; nothing without one.
std::optional<Finding> check_time_left(const comm::Launch& launch, double unix_now_s);

/// Compares the cores of a rank with the threads that it is to run.
/// @param threads   of a slot
/// @param launcher  the launcher whose options are named
Finding judge_cores(const comm::NodePlace& place, int threads, comm::Launcher launcher);

/// Compares the cores of a node's ranks with each other and with those of the node; returns the problems.
/// @param place  of the node's first rank
std::vector<Finding> judge_node_cores(const comm::NodePlace& place, const machine::NodeLimits& limits,
                                      comm::Launcher launcher);

/// Judges the memory of the node for each of its ranks.
Finding judge_memory(int ranks_of_node, const machine::NodeLimits& limits);

/// Judges a data set file's size against the memory of the node; nothing if it fits.
std::optional<Finding> judge_data_size(const std::string& file, std::uint64_t bytes,
                                       const machine::NodeLimits& limits);

/// Judges /dev/shm, through which ranks of a node exchange messages; nothing if it is large enough.
std::optional<Finding> judge_shared_memory(int ranks_of_node, const machine::NodeLimits& limits);

/// Judges the limit of open files, which connections to all other ranks need; nothing if it is high enough.
std::optional<Finding> judge_open_files(int ranks, const machine::NodeLimits& limits);

/// Judges the result of trying the run folder.
std::vector<Finding> judge_folder(const std::filesystem::path& folder, const store::FolderCheck& check);

/// Collective: tries the folder on each node, and checks that all nodes see the same one.
void check_folder(comm::Environment& environment, const std::filesystem::path& folder,
                  std::vector<Finding>& findings);

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

/// Collective: which GPU each rank would train on, or why none; what NCCL would be told.
/// @param needs  of the search: if it uses no device, what hinders the use of one is no problem
/// @param root   of the file system; "/" but for tests
/// @return       what this rank sees, for other checks
machine::RankView check_devices(comm::Environment& environment, const evaluate::EvaluatorNeeds& needs,
                                const train::AcceleratorLoader& load, const std::filesystem::path& root,
                                std::vector<Finding>& findings);

}  // namespace skyline::app
