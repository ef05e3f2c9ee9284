#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace skyline::comm {

/// What starts the processes of a job.
enum class Launcher {
  kNone,    // a person, or a program that knows nothing of MPI
  kMpirun,  // of Open MPI; inside a batch job as well, and what Azure ML starts processes by
  kSrun,    // with an MPI plugin
  kOther    // of another MPI library
};

/// What gave the job its nodes.
enum class BatchSystem { kNone, kSlurm, kAzureMl, kPbs, kLsf };

/// What the environment tells of how this process was started. Nothing in it is needed to work: MPI itself
/// says which rank and node this is.
struct Launch {
  Launcher launcher = Launcher::kNone;
  BatchSystem batch = BatchSystem::kNone;
  std::string job = {};   // of the batch system; empty: not told
  std::string task = {};  // of a job array; empty: none
  int restarts = 0;       // how often the batch system has started the job again
  std::optional<int> rank = {};
  std::optional<int> ranks = {};
  std::optional<int> nodes = {};            // of the job, which may have more than its ranks are on
  std::vector<std::string> hosts = {};      // where ranks may be; empty: not told
  std::optional<std::string> job_end = {};  // SLURM_JOB_END_TIME as it is, seconds since 1970
  std::string group = {};                   // the same for all processes of this start, unlike any other's
};

/// The value of a variable; nothing: not set.
using VariableLookup = std::function<std::optional<std::string>(const char* name)>;

/// The variables of this process.
std::optional<std::string> process_variable(const char* name);

/// The one place that knows the variables of launchers and batch systems.
/// @throws UserError if several processes were started that MPI would not connect
Launch read_launch(const VariableLookup& variable);

/// Time until the batch system ends the job; nothing: not told, or no time in the future.
std::optional<double> seconds_left(const Launch& launch, double unix_now_s);

/// The hosts of "n[01-03,7],login"; none if the list is not of this form.
std::vector<std::string> expand_host_list(std::string_view list);

/// Ranks of a node.
struct NodeRanks {
  std::string host;
  int ranks = 0;
};

/// One line: "Slurm job 812 (task 3, restart 1) by srun, Open MPI 4.1.4: 16 ranks on 2 nodes (node07,
/// node08), 8 a node; 3:59:10 left".
/// @param library  of MPI; empty: one process without it
std::string describe_start(const Launch& launch, const std::string& library,
                           const std::vector<NodeRanks>& nodes, double unix_now_s);

}  // namespace skyline::comm
