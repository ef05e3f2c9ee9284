#pragma once

#include "comm/environment.hpp"
#include "store/run_folder/run_folder.hpp"

#include <array>
#include <chrono>
#include <csignal>
#include <exception>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace skyline::app {

/// The time at which a job begins to stop early.
struct StopTime {
  double after_s = 0;  // since the start of the job
  std::string cause;   // "at run.time_limit"
};

/// The earlier one of run.time_limit and a minute before the end of a Slurm job; nothing if neither is set.
/// Warns if the end of the job is not after its start.
/// @param unix_start_s  start of the job, seconds since 1970
std::optional<StopTime> find_stop_time(std::optional<double> time_limit_s, const comm::Launch& launch,
                                       double unix_start_s);

/// While it lives, SIGUSR1, SIGTERM, SIGHUP and SIGINT ask the run to stop instead of ending the process; a
/// SIGHUP that is ignored (nohup) stays so. A second SIGINT ends the process at once, with exit code 130 and
/// without any clean-up: published files are whole. One object at a time, made by the main thread before
/// others start.
class StopSignals {
 public:
  /// Forgets signals of an earlier object. @throws InternalError if the system refuses a handler
  StopSignals();
  /// Restores the earlier handlers.
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  /// Whether a signal came; any thread.
  bool stop_requested() const { return signal() != 0; }
  /// The last signal that came; 0: none. Any thread.
  int signal() const;

 private:
  static constexpr std::array kSignals{SIGUSR1, SIGTERM, SIGHUP, SIGINT};
  std::array<struct sigaction, kSignals.size()> earlier_{};
};

/// Why and when this rank's job should stop early: a signal, or its time. Used by the main thread.
class JobStop {
 public:
  /// Marks the start of the job. From now on signals are requests to stop.
  JobStop();
  /// Adds the time limits (find_stop_time).
  void limit(std::optional<double> time_limit_s, const comm::Launch& launch);
  /// Logs when the time will be up.
  void announce() const;
  /// Seconds until the time is up, at least 0; nothing: no limit.
  std::optional<double> seconds_left() const;
  bool requested() const;
  /// "on SIGUSR1", "at run.time_limit", or "on a signal to another rank" if nothing was requested here.
  std::string cause() const;

 private:
  bool time_is_up() const;

  StopSignals signals_;
  std::chrono::steady_clock::time_point started_;
  double unix_start_s_;
  std::optional<std::chrono::steady_clock::time_point> end_;
  std::string end_cause_;
};

/// How a rank signs what it writes, e.g. "[rank 3 node07]".
std::string rank_name(comm::Environment& environment);

/// A line for each mistake: a configuration may have several.
std::vector<std::string> error_lines(const std::exception& error);

/// Prints one line on standard error, "skyline: cannot read ...".
void print_error(std::string_view text);
/// Likewise, a line for each mistake. @param signature  begins each; may be empty
void print_error(const std::exception& error, const std::string& signature = "");

/// Prints the last line of a job that did not fail, "skyline: done: ...".
void print_end(const std::string& text);
/// Notes in the log file with which exit code the job ends.
void note_exit_code(int exit_code);

/// Rank 0's last act: says in the run's status.json how this job ended. The scripts of batch systems go by
/// that, for a launcher may return something else, or outlive the ranks. Nothing is written into a folder
/// that another job has, or that is no run's. Elsewhere than on rank 0 it does nothing.
/// @param claim  of this job on the folder; nullptr: it did not get so far, which only a batch script asks
void tell_end(comm::Environment& environment, const store::RunPaths& paths, const store::RunClaim* claim,
              int exit_code);

/// Ends the whole job: one rank that unwinds into MPI_Finalize would hang while others wait for it. Prints
/// the error, signed where there are several ranks. @return  the exit code, of jobs without MPI
/// @param log_file  of the run: gets the error too, if it is there
/// @param others_go_on  where the launcher lets them live: they have been told, this rank ends alone
int end_all_ranks(comm::Environment& environment, const std::exception& error,
                  const std::filesystem::path& log_file, bool others_go_on = false);
/// What a rank returns of the job's exit code where the launcher lets survivors live: Open MPI 5 ends the job
/// with the first rank whose code is not 0, and rank 0 has more to do.
int exit_code_of_rank(comm::Environment& environment, int exit_code);

}  // namespace skyline::app
