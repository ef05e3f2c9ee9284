#pragma once

#include "comm/communicator.hpp"
#include "comm/launcher.hpp"
#include "comm/link.hpp"
#include "comm/mailbox.hpp"

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace skyline::comm {

/// The place of this rank on its node.
struct NodePlace {
  std::string host;
  int local_rank = 0;
  int local_size = 1;
  int node_count = 1;
  int node = 0;  // world rank of the node's first rank, which identifies the node
  /// Affinity mask of this rank, ascending.
  std::vector<int> allowed;
  /// Processors of this rank alone: its part of its affinity mask, after the ranks of the node have divided
  /// masks that overlap. At least one.
  std::vector<int> processors;
  std::vector<int> node_allowed;  // union of the affinity masks of all ranks of the node; ascending
  int sharing_ranks = 0;          // number of ranks of the node that share a processor
};

/// The time that the processes of a job wait for each other at its start; after it they end with kExitFault.
struct StartOptions {
  std::optional<double> timeout_s = 600;  // no value means no limit
  /// Whether the job was asked to stop. Any thread may call it. The start may then take half a minute more.
  bool (*stop_requested)() = nullptr;
};

/// Starts and stops MPI; without a launcher it is the environment of one process without MPI. There is one
/// object, in main(), and it is destroyed last. It asks MPI for MPI_THREAD_MULTIPLE and needs at least
/// FUNNELED. Errors are returned instead of fatal; this is set on the world before it is duplicated.
class Environment {
 public:
  /// Returns when all ranks have started and can communicate. Prints on standard error what it waits for, and
  /// ends this process if that takes too long.
  /// @throws UserError if MPI would not connect the launcher's processes
  static std::unique_ptr<Environment> start(const StartOptions& options = {});
  virtual ~Environment() = default;
  virtual Communicator& world() = 0;
  const NodePlace& place() const { return place_; }
  /// Host names of all ranks, by world rank; the same on every rank.
  const std::vector<std::string>& hosts() const { return hosts_; }
  /// Returns whether threads other than the main thread may communicate too, each on its own communicator.
  virtual bool threads_may_communicate() const = 0;
  /// Makes a mailbox for threads other than the main thread. Returns nullptr if there is no other rank, or if
  /// threads may not communicate. Collective.
  virtual std::unique_ptr<Mailbox> make_mailbox() = 0;
  /// Makes a link of point-to-point messages with its own channel, for the main thread, or for another one if
  /// threads may communicate. Returns nullptr if there is no other rank. Collective.
  /// @param most_bytes  largest size of a message; the same on all ranks
  virtual std::unique_ptr<Link> make_link(std::size_t most_bytes) = 0;
  /// Returns how this process was started.
  const Launch& launch() const { return launch_; }
  /// Returns one line about the start of the job (describe_start), the same on all ranks.
  const std::string& describe() const { return description_; }
  /// Ends all ranks now, after an error on one rank while others wait. Flushes, then calls
  /// MPI_Abort(exit_code). Where the launcher lets survivors live, it ends only this rank, by _exit; the
  /// others continue if the exit code is 0, and in Open MPI 4.1 always.
  [[noreturn]] virtual void abort(int exit_code) = 0;

 protected:
  explicit Environment(const Launch& launch) : launch_(launch) {}

  Launch launch_;
  NodePlace place_;
  std::vector<std::string> hosts_;
  std::string description_;
};

/// Makes a communicator of one process, without MPI.
std::unique_ptr<Communicator> make_local_communicator();

/// Returns the name of the loaded MPI library, e.g. "Open MPI 4.1.4". Works before MPI is started.
std::string mpi_library_name();

/// Starts MPI. @throws UserError if MPI does not connect the processes that the launcher started
std::unique_ptr<Environment> start_mpi_environment(const Launch& launch, const StartOptions& options);

/// Makes the environment of one process without MPI.
std::unique_ptr<Environment> make_local_environment(const Launch& launch = {});

/// Writes out buffered output, before a process ends without its destructors.
void flush_streams();

}  // namespace skyline::comm
