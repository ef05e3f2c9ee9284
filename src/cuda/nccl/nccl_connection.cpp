#include "cuda/nccl/nccl_connection.hpp"

#include "skyline/core/error.hpp"

#include "core/backoff.hpp"
#include "core/text/hash.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <future>
#include <iterator>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include <cuda_runtime_api.h>

namespace skyline::cuda {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kLongestStart{120};
constexpr std::chrono::seconds kLongestEnd{10};
constexpr std::chrono::seconds kLongestAbort{10};
constexpr std::chrono::microseconds kShortestPoll{10};  // after this pause most operations have been queued
constexpr std::chrono::microseconds kLongestPoll{1000};

/// Whether an abort took too long; the process cannot use its device any more.
std::atomic<bool> abort_hangs = false;

void check_nccl(ncclResult_t status, const char* call) {
  if (status != ncclSuccess) throw FaultError(nccl_error_text(status, call));
}

}  // namespace

std::string nccl_error_text(ncclResult_t status, const char* call, ncclComm_t communicator) {
  std::string text = std::string(call) + ": " + ncclGetErrorString(status);
  const char* details = ncclGetLastError(communicator);
  if (details != nullptr && *details != '\0') {
    const std::string all(details);
    text += ": " + all.substr(0, all.find('\n'));
  }
  return text;
}

std::string nccl_version() {
  int version = 0;  // 22809 for 2.28.9
  check_nccl(ncclGetVersion(&version), "ncclGetVersion");
  return std::to_string(version / 10000) + "." + std::to_string(version % 10000 / 100) + "." +
         std::to_string(version % 100);
}

ncclResult_t wait_for_nccl(ncclComm_t communicator, Clock::duration limit,
                           const std::function<void()>& meanwhile) {
  const auto begin = Clock::now();
  for (Backoff backoff(kShortestPoll, kLongestPoll);; backoff.pause()) {
    ncclResult_t state = ncclSuccess;
    const ncclResult_t status = ncclCommGetAsyncError(communicator, &state);
    if (status != ncclSuccess) return status;
    if (state != ncclInProgress || Clock::now() - begin > limit) return state;
    meanwhile();
  }
}

void CommunicatorTraits::close(ncclComm_t communicator) noexcept {
  std::promise<void> ended;
  const std::future<void> end = ended.get_future();
  int device = 0;
  drop_cuda_error(cudaGetDevice(&device));
  std::thread([communicator, device, ended = std::move(ended)]() mutable {
    drop_cuda_error(
        cudaSetDevice(device));  // NCCL returns to the thread's device, and would make a context there
    static_cast<void>(ncclCommAbort(communicator));
    ended.set_value();
  }).detach();
  if (end.wait_for(kLongestAbort) == std::future_status::ready) return;
  abort_hangs = true;
}

std::optional<std::string> abort_problem() {
  if (!abort_hangs) return std::nullopt;
  return "NCCL has not let go of the GPU " + std::to_string(kLongestAbort.count()) +
         " s after a group was given up: resume the run";
}

namespace {

Connection connect(trial::TrialGroup& group, int device) {
  Connection connection{.members = group.members(), .member = group.member(), .device = device};
  if (group.member() == 0) check_nccl(ncclGetUniqueId(&connection.id), "ncclGetUniqueId");
  group.broadcast(std::as_writable_bytes(std::span(&connection.id, 1)));
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  ncclComm_t communicator = nullptr;
  ncclResult_t status = ncclCommInitRankConfig(&communicator, static_cast<int>(group.members()),
                                               connection.id, static_cast<int>(group.member()), &config);
  connection.communicator = CommunicatorHandle(communicator);
  if (status == ncclInProgress) status = wait_for_nccl(communicator, kLongestStart, [&] { group.check(); });
  if (status == ncclInProgress) {
    throw FaultError("ncclCommInitRankConfig has not ended for " + std::to_string(kLongestStart.count()) +
                     " s: a member of the group is lost or stuck");
  }
  if (status != ncclSuccess) {
    throw FaultError(nccl_error_text(status, "ncclCommInitRankConfig", communicator));
  }
  return connection;
}

}  // namespace

IdleConnections::~IdleConnections() {
  for (Connection& connection : idle_) {
    drop_cuda_error(cudaSetDevice(connection.device));
    const ncclComm_t communicator = connection.communicator.release();
    ncclResult_t status = ncclCommFinalize(communicator);
    if (status == ncclInProgress) status = wait_for_nccl(communicator, kLongestEnd, [] {});
    if (status == ncclSuccess) static_cast<void>(ncclCommDestroy(communicator));
  }
}

Connection IdleConnections::acquire(trial::TrialGroup& group, int device) {
  const auto fits = [&](const Connection& connection) {
    return connection.members == group.members() && connection.member == group.member() &&
           connection.device == device;
  };
  std::optional<Connection> found;
  ncclUniqueId id{};
  if (group.member() == 0) {
    found = find(fits);
    if (found) id = found->id;
  }
  group.broadcast(std::as_writable_bytes(std::span(&id, 1)));
  const auto is_same = [&](const Connection& connection) {
    return fits(connection) && std::memcmp(&connection.id, &id, sizeof id) == 0;
  };
  if (group.member() != 0) found = find(is_same);
  double missing = found ? 0 : 1;  // a member may have lost it, or have had it with other ranks
  group.sum(std::span(&missing, 1));
  if (missing == 0) return std::move(*found);
  found.reset();
  return connect(group, device);
}

void IdleConnections::give_back(Connection connection) {
  const std::lock_guard lock(mutex_);
  idle_.push_back(std::move(connection));
}

std::optional<Connection> IdleConnections::find(const std::function<bool(const Connection&)>& fits) {
  const std::lock_guard lock(mutex_);
  const auto last = std::find_if(idle_.rbegin(), idle_.rend(), fits);
  if (last == idle_.rend()) return std::nullopt;
  Connection found = std::move(*last);
  idle_.erase(std::next(last).base());
  return found;
}

bool have_distinct_devices(trial::TrialGroup& group, const std::string& machine, const std::string& bus_id) {
  constexpr int kBitsOfDouble = 53;  // bits of a whole number that a double holds exactly
  const std::uint64_t code = stable_hash64(machine + " " + bus_id) >> (64 - kBitsOfDouble);
  std::vector<double> codes(group.members(), 0.0);
  codes[group.member()] = static_cast<double>(code);
  group.sum(codes);
  std::ranges::sort(codes);
  return std::ranges::adjacent_find(codes) == codes.end();
}

std::string machine_name() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string name;
  std::getline(file, name);
  return name;
}

}  // namespace skyline::cuda
