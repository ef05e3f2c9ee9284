#pragma once

#include "skyline/trial/trial.hpp"

#include <cstddef>
#include <deque>
#include <filesystem>
#include <mutex>
#include <string>

namespace skyline::store {

/// The cache of a run on a host, which all its trials there share.
std::filesystem::path cache_folder(const std::filesystem::path& run, const std::string& host);

/// The folders of one attempt at a trial, which exist as long as the object. Nobody else can enter them.
class AttemptFolder {
 public:
  /// Makes the folders. @throws Problem if they cannot be made
  AttemptFolder(const std::filesystem::path& run, trial::TrialName trial);
  ~AttemptFolder();
  AttemptFolder(const AttemptFolder&) = delete;
  AttemptFolder& operator=(const AttemptFolder&) = delete;

  std::filesystem::path parameters() const { return root_ / "parameters.json"; }
  std::filesystem::path network() const { return root_ / "network.py"; }
  std::filesystem::path report() const { return root_ / "report.jsonl"; }
  std::filesystem::path decisions() const { return root_ / "decisions.jsonl"; }
  const std::filesystem::path& temporary() const { return temporary_; }  // on this host
  /// Lets the temporary folder stay after the object's end, until remove_temporary_folders().
  void keep_temporary() { keeps_temporary_ = true; }

 private:
  std::filesystem::path root_;
  std::filesystem::path temporary_;
  bool keeps_temporary_ = false;
};

/// Removes the attempts that an earlier job left in the run's folder. No trial of the run may be under way.
void remove_attempts(const std::filesystem::path& run);
/// Removes temporary folders of attempts whose ranks on this host are gone.
void remove_temporary_folders();
/// Removes the files called `lock` below a folder that no process has open. PyTorch makes such a file while
/// it compiles an extension, and waits without end for one that a killed process has left.
void remove_left_locks(const std::filesystem::path& folder);

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
