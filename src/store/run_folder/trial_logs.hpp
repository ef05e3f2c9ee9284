#pragma once

#include "skyline/trial/trial.hpp"

#include <cstddef>
#include <deque>
#include <filesystem>
#include <mutex>
#include <string>

namespace skyline::store {

/// The logs of trials, in logs/trials of the run: all of failed attempts, and the newest of the others. Any
/// thread may use it.
class TrialLogs {
 public:
  /// @param most  how many logs of this object's successful trials are kept
  TrialLogs(const std::filesystem::path& run, std::size_t most);
  /// Returns the log of a process while it runs, e.g. logs/trials/17.log.
  /// @param process  number of the process, and of how many
  std::filesystem::path path(trial::TrialName trial, std::size_t process, std::size_t processes) const;
  /// Keeps the log of an attempt that has ended. Returns its new name if the attempt has failed:
  /// logs/trials/17.failed.log.
  std::filesystem::path keep(const std::filesystem::path& log, bool failed);
  /// Returns whether no process of this run has said so before, so that it should: once a run.
  /// @param what  a short name, part of a file's
  bool should_tell(const std::string& what) const;
  /// Removes the oldest logs of successful trials, so that this many are left.
  static void prune(const std::filesystem::path& run, std::size_t most);

 private:
  std::filesystem::path folder_;
  std::size_t most_;
  std::mutex mutex_;
  std::deque<std::filesystem::path> succeeded_;  // guarded by the mutex; oldest first
};

}  // namespace skyline::store
