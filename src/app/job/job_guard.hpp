#pragma once

#include "comm/environment.hpp"
#include "engine/dispatch/rank_watch.hpp"

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <stop_token>
#include <thread>

namespace skyline::app {

/// A thread that ends this process, with one line and kExitFault, when the main thread cannot. The main
/// thread may hang in a call on a file whose server is silent. Or it waits, while the job starts, for a rank
/// of its node that has died, if survivors live. It runs from construction to destruction.
class JobGuard {
 public:
  /// Makes the guard; ends this process, too, if that takes too long. Collective.
  /// @param environment  must outlive the object
  JobGuard(comm::Environment& environment, const comm::StartOptions& options);
  JobGuard(const JobGuard&) = delete;
  JobGuard& operator=(const JobGuard&) = delete;

  /// Ends the watch for dead ranks, because the engine now finds them, or this rank waits for none.
  void end_start() { starts_ = false; }

 private:
  void watch(const std::stop_token& stop);
  /// Looks once. @throws FaultError
  void look();

  comm::Environment& environment_;
  engine::RankWatch ranks_;  // watches no ranks if the launcher ends them all
  std::atomic<bool> starts_ = true;
  std::mutex mutex_;
  std::condition_variable_any stopped_;
  std::jthread thread_;  // the last member, because it uses all others
};

}  // namespace skyline::app
