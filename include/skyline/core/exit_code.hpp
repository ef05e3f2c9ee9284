#pragma once

#include <exception>
#include <string>

namespace skyline {

// The exit codes of the program. Scripts act on them: slurm/search.sbatch requeues a job that ended with
// kExitStopped, with kExitFault, or by a signal.
constexpr int kExitDone = 0;
constexpr int kExitUserError = 2;
constexpr int kExitNoFront = 3;   // no front (all trials failed or break constraints), or the search gave up
constexpr int kExitBug = 70;      // EX_SOFTWARE; 1 is left to launchers
constexpr int kExitStopped = 75;  // EX_TEMPFAIL: stopped early, with everything saved
constexpr int kExitFault = 76;    // something outside failed

/// The code by which shells report a process that a signal has ended.
constexpr int exit_code_of_signal(int signal) {
  return 128 + signal;
}

/// Returns the exit code for this error. User errors give kExitUserError. FaultError, missing memory and
/// system errors of the standard library give kExitFault. All others give kExitBug.
int exit_code_of(const std::exception& error);

/// Returns the error as it is printed for a person, e.g. "internal error: the queue is closed".
std::string error_text(const std::exception& error);

}  // namespace skyline
