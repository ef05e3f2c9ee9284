#pragma once

#include "core/system/process.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace skyline::comm {

/// The program that starts the processes of a job.
enum class Launcher {
  kNone,    // started by a person, or by a program that knows nothing of MPI
  kMpirun,  // mpirun of Open MPI, also inside a batch job and on Azure ML
  kSrun,    // srun with an MPI plugin
  kOther    // the launcher of another MPI library
};

/// The system that gave the job its nodes.
enum class BatchSystem { kNone, kSlurm, kAzureMl, kPbs, kLsf };

/// What environment variables say about the start of this process. Used only for messages and at the end of
/// the job: MPI itself says which rank and node this is.
struct Launch {
  Launcher launcher = Launcher::kNone;
  BatchSystem batch = BatchSystem::kNone;
  std::string job = {};   // number in the batch system; empty if unknown
  std::string task = {};  // task of a job array; empty if there is none
  int restarts = 0;       // number of times that the batch system has restarted the job
  std::optional<int> rank = {};
  std::optional<int> ranks = {};
  std::optional<int> nodes = {};            // nodes of the job; its ranks may use fewer
  std::vector<std::string> hosts = {};      // hosts on which ranks may run; empty if unknown
  std::optional<std::string> job_end = {};  // SLURM_JOB_END_TIME unchanged, in seconds since 1970
  std::string group = {};                   // equal for all processes of this start, and different for others
  bool survivors_live = false;              // true if the launcher leaves the other ranks alone when one dies
};

/// Reads the variables of launchers and batch systems; no other code knows their names.
/// @throws UserError if several processes were started that MPI would not connect
Launch read_launch(const VariableLookup& variable);

/// Returns the rank of another process, if it was started together with this one.
/// @param variable  looks up the other process's variables
/// @param group     Launch::group of this one
std::optional<int> rank_in_group(const VariableLookup& variable, const std::string& group);

/// Returns the time until the batch system ends the job, or nullopt if it is unknown or past.
std::optional<double> seconds_left(const Launch& launch, double unix_now_s);

/// Returns the hosts of e.g. "n[01-03,7],login", or none if the list has another form.
std::vector<std::string> expand_host_list(std::string_view list);

/// Returns those of a job's hosts that are not among `hosts`, which may have their domain in their names.
std::vector<std::string> hosts_without(const std::vector<std::string>& job_hosts,
                                       const std::vector<std::string>& hosts);

struct NodeRanks {
  std::string host;
  int ranks = 0;
};

/// Describes the start in one line: "Slurm job 812 (task 3, restart 1) by srun, Open MPI 4.1.4: 16 ranks on 2
/// nodes (node07, node08), 8 a node; 3:59:10 left".
/// @param library  name of the MPI library; empty for one process without it
std::string describe_start(const Launch& launch, const std::string& library,
                           const std::vector<NodeRanks>& nodes, double unix_now_s);

}  // namespace skyline::comm
