#pragma once

#include "app/doctor/doctor_findings.hpp"
#include "comm/environment.hpp"
#include "core/system/control_groups.hpp"
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

/// Judges the launcher and the MPI library, and whether threads may communicate.
Finding check_launcher(comm::Environment& environment);
/// Judges the time that the batch system leaves; nullopt without a batch system.
std::optional<Finding> check_time_left(const comm::Launch& launch, double unix_now_s);

/// Compares the cores of a rank with the threads that it will run.
/// @param threads   threads of a slot
/// @param launcher  the launcher whose options the advice names
Finding judge_cores(const comm::NodePlace& place, int threads, comm::Launcher launcher);

/// Compares the cores of a node's ranks with each other and with the cores of the node. Returns the problems.
/// @param place  place of the node's first rank
std::vector<Finding> judge_node_cores(const comm::NodePlace& place, const machine::NodeLimits& limits,
                                      comm::Launcher launcher);

/// Judges the memory of the node for each of its ranks.
Finding judge_memory(int ranks_of_node, const machine::NodeLimits& limits);

/// Judges a data set file's size against the memory of the node; nullopt if it fits.
std::optional<Finding> judge_data_size(const std::string& file, std::uint64_t bytes,
                                       const machine::NodeLimits& limits);

/// Judges /dev/shm, through which ranks of a node exchange messages; nullopt if it is large enough.
std::optional<Finding> judge_shared_memory(int ranks_of_node, const machine::NodeLimits& limits);

/// Judges the folder for temporary files, in which the launcher and MPI keep theirs: whether a file can be
/// written there, and the room. Returns nullopt if there is nothing to say.
/// @param free_bytes  nullopt if it is not known
/// @param problem     why no file can be written there; may be empty
std::optional<Finding> judge_temporary_folder(const std::filesystem::path& folder,
                                              std::optional<std::uint64_t> free_bytes,
                                              const std::string& problem = {});

/// Judges the limit of processes and threads of the control group, e.g. of a container; nullopt if there is
/// none, or enough are left.
std::optional<Finding> judge_processes(int ranks_of_node, const std::optional<ProcessLimit>& limit);

/// Judges the limit of open files, which connections to all other ranks need; nullopt if it is high enough.
std::optional<Finding> judge_open_files(int ranks, const machine::NodeLimits& limits);

/// Judges the result of trying the run folder.
std::vector<Finding> judge_folder(const std::filesystem::path& folder, const store::FolderCheck& check);

/// Tries the folder on each node, and checks that all nodes see the same one. Collective.
void check_folder(comm::Environment& environment, const std::filesystem::path& folder,
                  std::vector<Finding>& findings);

/// The facts about messages between nodes.
struct FabricFacts {
  machine::RankView node = {};  // this rank's node, with its ports and devices
  int node_count = 1;
  std::optional<std::uint64_t> locked_memory_bytes = {};  // nullopt without a limit
  bool direct_transfers = false;                          // the driver lets adapters read a GPU's memory
  std::vector<std::string> mpi_components =
      {};  // the components with which MPI sends, "pml_ob1", "btl_tcp"; empty if unknown
};

/// @param node  the node, with its ports and devices
/// @param root  root of the file system; tests use another one than "/"
FabricFacts read_fabric_facts(const machine::RankView& node, int node_count,
                              const machine::NodeLimits& limits, const std::filesystem::path& root);

/// Returns the components of Open MPI for sending that a process has loaded.
/// @param maps  text of /proc/self/maps
std::vector<std::string> mpi_components(std::string_view maps);

/// Judges InfiniBand or RoCE adapters, the memory that they need, and whether MPI uses them.
std::vector<Finding> judge_fabric(const FabricFacts& facts);

/// Finds out on which GPU each rank would train, or why on none, and which settings NCCL would get. Returns
/// what this rank sees, for other checks. Collective.
/// @param needs  needs of the search: if it uses no device, an unusable device is not a problem
/// @param root   root of the file system; tests use another one than "/"
machine::RankView check_devices(comm::Environment& environment, const evaluate::EvaluatorNeeds& needs,
                                const train::AcceleratorLoader& load, const std::filesystem::path& root,
                                std::vector<Finding>& findings);

}  // namespace skyline::app
