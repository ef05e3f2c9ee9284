#pragma once

#include "comm/communicator.hpp"
#include "comm/launcher.hpp"
#include "comm/link.hpp"
#include "comm/mailbox.hpp"

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace skyline::comm {

/// Place of this rank on its node.
struct NodePlace {
  std::string host;
  int local_rank = 0;
  int local_size = 1;
  int node_count = 1;
  int node = 0;  // world rank of the node's first rank: identifies the node, whatever its name
  /// Affinity mask of this rank, ascending.
  std::vector<int> allowed;
  /// Processors of this rank alone: its share of its affinity mask, which is divided among the ranks of the
  /// node whose masks overlap. At least one.
  std::vector<int> processors;
  std::vector<int> node_allowed;  // union of the affinity masks of the node's ranks; ascending
  int sharing_ranks = 0;          // ranks of the node that have no processor to themselves
};

/// How long the processes of a job wait for each other at its start; then they end with kExitFault.
struct StartOptions {
  std::optional<double> timeout_s = 600;  // nothing: no limit
};

/// Starts and stops MPI; without a launcher it stands for one process without MPI. One object in main();
/// destroyed last. MPI_Init_thread with MULTIPLE, and FUNNELED as the least; errors returned (not fatal) on
/// the world before it is duplicated.
class Environment {
 public:
  /// Returns when all ranks have started and can communicate. Says on standard error what it waits for, and
  /// ends this process when that takes too long. @throws UserError if the launcher's processes would not be
  /// one job
  static std::unique_ptr<Environment> start(const StartOptions& options = {});
  virtual ~Environment() = default;
  virtual Communicator& world() = 0;
  const NodePlace& place() const { return place_; }
  /// Host names of all ranks, by world rank; the same on every rank.
  const std::vector<std::string>& hosts() const { return hosts_; }
  /// Whether threads other than the main one may communicate too, each on a communicator of its own.
  virtual bool threads_may_communicate() const = 0;
  /// Collective: a mailbox for threads other than the main one. Nothing if there is no other rank, or if
  /// threads may not communicate.
  virtual std::unique_ptr<Mailbox> make_mailbox() = 0;
  /// Collective: a link of point-to-point messages for the main thread, on a channel of its own. Nothing if
  /// there is no other rank.
  /// @param most_bytes  of a message; the same on all ranks
  virtual std::unique_ptr<Link> make_link(std::size_t most_bytes) = 0;
  /// How this process was started.
  const Launch& launch() const { return launch_; }
  /// One line about how the job started (describe_start), the same on all ranks.
  const std::string& describe() const { return description_; }
  /// Ends all ranks now; for an error on one rank while others wait. Flushes, then MPI_Abort(exit_code).
  /// Where the launcher lets survivors live, this rank by _exit: others go on if the exit code is 0, or in
  /// Open MPI 4.1.
  [[noreturn]] virtual void abort(int exit_code) = 0;

 protected:
  explicit Environment(const Launch& launch) : launch_(launch) {}

  Launch launch_;
  NodePlace place_;
  std::vector<std::string> hosts_;
  std::string description_;
};

/// A communicator of one process, without MPI.
std::unique_ptr<Communicator> make_local_communicator();

/// The MPI library that this process has loaded, "Open MPI 4.1.4"; also without MPI started.
std::string mpi_library_name();

/// Starts MPI. @throws UserError if MPI does not connect the processes that the launcher started
std::unique_ptr<Environment> start_mpi_environment(const Launch& launch, const StartOptions& options);

/// One process, no MPI.
std::unique_ptr<Environment> make_local_environment(const Launch& launch = {});

/// Writes out what is buffered, before a process ends without its destructors.
void flush_streams();

}  // namespace skyline::comm
