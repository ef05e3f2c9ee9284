#pragma once

#include "skyline/trial/trial.hpp"

#include <filesystem>
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

}  // namespace skyline::store
