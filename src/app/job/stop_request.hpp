#pragma once

#include "comm/environment.hpp"
#include "store/run_folder/run_folder.hpp"

#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <exception>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include <sys/types.h>

namespace skyline::report {
struct JobEnding;
}

namespace skyline::app {

/// The time at which a job begins to stop early.
struct StopTime {
  double after_s = 0;  // seconds since the start of the job
  std::string cause;   // e.g. "at run.time_limit"
};

/// Returns the earlier one of run.time_limit and a minute before the end of a Slurm job; nullopt if neither
/// is set. Warns if the end of the job is not after its start.
/// @param unix_start_s  start of the job, seconds since 1970
std::optional<StopTime> find_stop_time(std::optional<double> time_limit_s, const comm::Launch& launch,
                                       double unix_start_s);

/// Notes SIGUSR1, SIGTERM, SIGHUP and SIGINT from the first code of the process on, for the StopSignals that
/// a job makes after MPI and its libraries have started. Async-signal-safe.
void note_early_signals() noexcept;
/// Returns whether one was noted. Any thread may call it.
bool early_signal_noted();
/// Gives these signals their usual effect, for commands that cannot be asked to stop. One that was noted
/// takes effect now.
void release_early_signals();

/// While it lives, SIGUSR1, SIGTERM, SIGHUP and SIGINT ask the run to stop instead of ending the process. A
/// SIGHUP that is ignored (nohup) stays ignored. A second SIGINT ends the process at once, with exit code 130
/// and without any clean-up; published files are whole. One at a time, made by the main thread first.
class StopSignals {
 public:
  /// Knows the signals that note_early_signals has noted. @throws InternalError if the system refuses a
  /// handler
  StopSignals();
  /// Restores the earlier handlers, and forgets the signals.
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  /// Returns whether a signal came. Any thread may call it.
  bool stop_requested() const { return signal() != 0; }
  /// Returns the last signal that came, or 0. Any thread may call it.
  int signal() const;

 private:
  std::array<struct sigaction, 4> earlier_{};
};

/// Says why and when this rank's job should stop early: a signal, or its time. Used by the main thread.
class StopRequest {
 public:
  /// Marks the start of the job. From now on signals are requests to stop.
  StopRequest();
  /// Adds the time limits (find_stop_time).
  void limit(std::optional<double> time_limit_s, const comm::Launch& launch);
  /// Logs when the time will be up.
  void announce() const;
  /// Returns the seconds until the time is up, at least 0; nullopt without a limit.
  std::optional<double> seconds_left() const;
  /// Any thread may call it.
  bool requested() const;
  /// Returns "on SIGUSR1", "at run.time_limit", or "on a signal to another rank".
  std::string cause() const;
  /// Returns whether the time is up, and no signal came. Any thread may call it.
  bool out_of_time() const { return !signals_.stop_requested() && time_is_up(); }

 private:
  bool time_is_up() const;

  StopSignals signals_;
  std::chrono::steady_clock::time_point started_;
  double unix_start_s_;
  static constexpr auto kNoEnd = std::chrono::steady_clock::time_point::max();
  std::atomic<std::chrono::steady_clock::time_point> end_ = kNoEnd;
  std::string end_cause_;
};

/// Returns the name with which a rank signs its lines, e.g. "[rank 3 node07]".
std::string rank_name(comm::Environment& environment);

/// Returns a line for each mistake, because a configuration may have several.
std::vector<std::string> error_lines(const std::exception& error);

/// Prints one line on standard error, "skyline: cannot read ...".
void print_error(std::string_view text);
/// Prints a line for each mistake.
/// @param signature  beginning of each line; may be empty
void print_error(const std::exception& error, const std::string& signature = "");

/// Writes text of a job to standard output. A job goes on if that takes no more, because its results are in
/// its run folder.
void tell(const std::string& text);
/// Prints the last line of a job that did not fail, "skyline: done: ...".
void print_end(const std::string& text);
/// Notes in the log file with which exit code the job ends.
void note_exit_code(int exit_code);

/// Writes into the run's status.json how this job ended, as rank 0's last act; does nothing on other ranks.
/// The scripts of batch systems use that, because a launcher may return something else, or outlive the ranks.
/// Nothing is written into a folder that another job has, or that is not a run's.
/// @param claim   this job's claim on the folder; nullptr if it did not get so far, in which case only batch
///                scripts need the end
/// @param ending  without job and restart
void tell_end(comm::Environment& environment, const store::RunPaths& paths, const store::RunClaim* claim,
              report::JobEnding ending);
/// Tells the end from another rank or thread, if a rank hangs. Nothing is written if rank 0 has not got the
/// folder.
/// @param process        of rank 0
/// @param may_have_told  whether rank 0 may have written the end, which then stays
void tell_end_for_coordinator(comm::Environment& environment, const store::RunPaths& paths, pid_t process,
                              bool may_have_told, int exit_code);

/// Ends the whole job: a single rank that unwinds into MPI_Finalize would hang while others wait for it.
/// Prints the error, signed if there are several ranks. Returns the exit code for a job without MPI.
/// @param exit_code  of the whole job
/// @param log_file  log of the run, which gets the error too, if it exists
/// @param others_go_on  if the launcher lets them live: they know about it, and only this rank ends
int end_all_ranks(comm::Environment& environment, const std::exception& error, int exit_code,
                  const std::filesystem::path& log_file, bool others_go_on = false);
/// Returns the exit code of this rank for the job's exit code. If the launcher lets survivors live, only rank
/// 0's matters: Open MPI 5 ends the job with the first rank whose code is not 0, and rank 0 has more to do.
int exit_code_of_rank(comm::Environment& environment, int exit_code);

}  // namespace skyline::app
