#pragma once

#include "skyline/trial/trial_group.hpp"

#include "core/system/unique_handle.hpp"

#include <chrono>
#include <cstddef>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <nccl.h>

namespace skyline::cuda {

/// Returns e.g. "ncclAllReduce: unhandled cuda error: ...", with NCCL's last error.
std::string nccl_error_text(ncclResult_t status, const char* call, ncclComm_t communicator = nullptr);

/// Returns e.g. "2.28.9".
std::string nccl_version();

/// Closes a communicator by aborting it, for which no other member is needed. The abort may hang where
/// another process of the node was killed or stopped: after 10 s it is left to itself, and abort_problem()
/// says so. Its device must be current.
struct CommunicatorTraits {
  using Type = ncclComm_t;
  static constexpr Type kNull = nullptr;
  static void close(Type communicator) noexcept;
};
using CommunicatorHandle = UniqueHandle<CommunicatorTraits>;

/// Says that an abort hangs: the device will never be free again, and the process must end. Any thread may
/// ask.
std::optional<std::string> abort_problem();

/// Waits, sleeping, until NCCL has finished its last operation on a nonblocking communicator.
/// @param meanwhile  called again and again; may throw
/// @return           NCCL's result; ncclInProgress if it takes longer than `limit`
ncclResult_t wait_for_nccl(ncclComm_t communicator, std::chrono::steady_clock::duration limit,
                           const std::function<void()>& meanwhile);

/// A nonblocking communicator of a group, which can be left when a member is lost.
struct Connection {
  ncclUniqueId id = {};  // the same for all members, and for no other communicator
  std::size_t members = 0;
  std::size_t member = 0;
  int device = 0;
  CommunicatorHandle communicator = {};
};

/// The connections that groups have left in order. The next group of the same ranks takes one again, because
/// connecting takes longer than a small trial. Any thread may use it.
class IdleConnections {
 public:
  IdleConnections() = default;
  /// Closes them together with the other processes. One whose other members do not come stays open: the
  /// process ends.
  ~IdleConnections();
  IdleConnections(const IdleConnections&) = delete;
  IdleConnections& operator=(const IdleConnections&) = delete;

  /// Returns a connection that all members of the group have, or makes one. The device must be current.
  /// Collective over the group.
  /// @throws FaultError with NCCL's text, GroupAborted if a member has given up
  Connection acquire(trial::TrialGroup& group, int device);
  /// Takes back a connection whose members have all ended their operations.
  void give_back(Connection connection);

 private:
  /// Removes and returns the last connection that fits.
  std::optional<Connection> find(const std::function<bool(const Connection&)>& fits);

  std::mutex mutex_;
  std::vector<Connection> idle_;
};

/// Returns whether each member has its own device, as NCCL requires; the same on all members. Collective over
/// the group.
/// @param machine  equal on all ranks of a machine, in every container
/// @param bus_id   address of this member's device
bool have_distinct_devices(trial::TrialGroup& group, const std::string& machine, const std::string& bus_id);

/// Returns a name of this machine that is valid until it reboots.
std::string machine_name();

}  // namespace skyline::cuda
