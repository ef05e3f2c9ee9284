#pragma once

#include "store/publish/patience.hpp"

#include <chrono>
#include <filesystem>
#include <string_view>

namespace skyline::store {

/// What went wrong: a system call and its errno value. None if that is 0.
struct Fault {
  std::string_view call;
  int error = 0;
  explicit operator bool() const { return error != 0; }
};

/// Whether the same thing may work a while later: no space, a server that is away. Not: read-only, no
/// permission, a folder that is gone.
bool may_pass(int error_number);

/// Pauses of growing length between attempts, from 10 ms to 2 s.
class GrowingPause {
 public:
  /// Sleeps, unless more than `bound_s` seconds have passed since the start: then false.
  bool sleep(double bound_s);

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point started_ = Clock::now();
  std::chrono::milliseconds next_{10};
};

/// Bears the faults of one task on one file, and tells the log when a wait begins and when it is over.
class Patience {
 public:
  /// @param task, path  as for fail_system; they outlive the object
  Patience(std::string_view task, const std::filesystem::path& path) : task_(task), path_(path) {}
  /// Pauses before the next attempt. @throws FaultError, UserError if the fault will not pass, or has lasted
  /// too long: fail_system
  void bear(const Fault& fault);
  /// The task is done.
  void done() const;

 private:
  std::string_view task_;
  const std::filesystem::path& path_;
  GrowingPause pause_;
  std::chrono::steady_clock::time_point began_;
  bool waiting_ = false;
};

/// Runs `attempt`, a function that returns a Fault, until it works.
/// @throws FaultError "cannot <task> <path>: fsync: No space left on device (free some space ...)"
template <typename Attempt>
void patiently(std::string_view task, const std::filesystem::path& path, Attempt attempt) {
  Patience patience(task, path);
  while (const Fault fault = attempt()) patience.bear(fault);
  patience.done();
}

}  // namespace skyline::store
