#pragma once

#include "app/job/stop_request.hpp"
#include "comm/environment.hpp"
#include "engine/dispatch/failure_detector.hpp"
#include "engine/engine_job.hpp"

#include <atomic>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>
#include <vector>

namespace skyline::comm {
class StartWatch;
}

namespace skyline::app {

/// A thread that ends this process, with one line, when the main thread cannot. The main thread may hang in a
/// call on a file whose server is silent. Or it waits for a rank that hangs, or, while the job starts and
/// survivors live, for one of its node that has died. The thread also sends this rank's heartbeats, which
/// are never late for a long step or file. It runs from construction to destruction.
///
/// A rank that hangs ends the job: at once, unless the search runs. Then all ranks first save their running
/// trials, and call hold(). The exit code is kExitStopped if the job was told to stop, else kExitFault.
class Watchdog {
 public:
  /// Makes the guard; ends this process, too, if that takes too long. Collective.
  /// @param environment, stop  must outlive the object
  /// @param paths  the run's, where the exit code is written
  Watchdog(comm::Environment& environment, const comm::StartOptions& options, const StopRequest& stop,
           store::RunPaths paths);
  /// Leaves a thread that ends this process if MPI does not end.
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  /// Sets the silence after which a rank hangs.
  void set_lost_after(double seconds) { lost_after_s_ = seconds; }
  /// Notes that the search begins. The engine now finds ranks that have died, and where survivors live also
  /// those that hang, except rank 0.
  void begin_search() { phase_ = JobPhase::kSearch; }
  /// Notes that all ranks have saved everything. Rank 0 now writes the results, which need nobody else.
  void end_search();
  /// Notes that nothing is left to do, on all ranks.
  void end_job(int exit_code);
  /// Returns the exit code of end_job().
  int exit_code() const { return exit_code_; }

  /// Returns the hang that ends the job, if there is one. A rank that was suspended knows of it at once.
  std::optional<engine::Hang> hang();
  /// Returns the exit code of a job that ends with this error.
  int exit_code(const std::exception& error);
  /// Waits until all other ranks have saved, or should have; where survivors live, for nobody. Returns on the
  /// rank that must end the job now, or if no rank hangs; otherwise the process ends meanwhile. If rank 0
  /// hangs, the exit code has been written in its place.
  void hold();

 private:
  enum class JobPhase { kStart, kSearch, kResults, kEnd };
  Watchdog(comm::Environment& environment, const StopRequest& stop, store::RunPaths paths,
           comm::StartWatch&& start);
  void watch(const std::stop_token& stop);
  /// Checks all ranks and the storage once. @throws FaultError if the job must end
  void check();
  void exchange_heartbeats();
  void check_dead_ranks();
  void handle_hung_rank();
  std::optional<engine::Hang> hang_now() const;
  int exit_code_now(int otherwise) const;
  void tell_end_of_hang() const;
  void kill_hung_rank() const;
  bool survivors_live() const { return environment_.launch().survivors_live; }

  comm::Environment& environment_;
  const StopRequest& stop_;
  const store::RunPaths paths_;
  std::vector<engine::RankProcess> processes_;  // [ranks]
  engine::FailureDetector ended_;               // watches no ranks if the launcher ends them all
  std::atomic<double> lost_after_s_ = engine::EngineOptions{}.lost_after_s;
  std::atomic<JobPhase> phase_ = JobPhase::kStart;
  std::atomic<int> exit_code_ = 0;  // exit code of the job, once it is known
  std::mutex mutex_;                // guards the members below
  std::condition_variable_any changed_;
  std::unique_ptr<engine::Heartbeats> signs_;  // nullptr for a single rank, or if threads may not communicate
  double exchanged_s_ = 0;                     // time of the last exchange
  std::optional<double> hung_since_s_;
  bool holds_ = false;    // the main thread is in hold()
  bool tells_ = false;    // this rank has told that it has saved
  bool may_end_ = false;  // hold() returns
  std::jthread thread_;   // the last member, because it uses all others
};

}  // namespace skyline::app
