#pragma once

#include "comm/environment.hpp"
#include "engine/dispatch/rank_watch.hpp"

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <stop_token>
#include <thread>

namespace skyline::app {

/// A thread that ends this process, with one line and kExitFault, where the main thread cannot: it is in a
/// call on a file whose server stays silent; or it waits for a rank of its node that has died while the job
/// starts, where the launcher lets survivors live. Works from construction to destruction.
class JobGuard {
 public:
  /// Collective; ends this process, too, if that takes too long.
  /// @param environment  outlives the object
  JobGuard(comm::Environment& environment, const comm::StartOptions& options);
  JobGuard(const JobGuard&) = delete;
  JobGuard& operator=(const JobGuard&) = delete;

  /// From here on the engine finds dead ranks, or this one waits for none.
  void end_start() { starts_ = false; }

 private:
  void watch(const std::stop_token& stop);
  /// @throws FaultError
  void look();

  comm::Environment& environment_;
  engine::RankWatch ranks_;  // of none where the launcher ends them all
  std::atomic<bool> starts_ = true;
  std::mutex mutex_;
  std::condition_variable_any stopped_;
  std::jthread thread_;  // last: it uses all the others
};

}  // namespace skyline::app
