#pragma once

#include "skyline/trial/evaluator.hpp"

#include "engine/work/engine_options.hpp"
#include "engine/work/run_files.hpp"
#include "store/weights/trial_folder.hpp"

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <string>

namespace skyline::engine {

/// Returns a message for people: why a trial cannot start from what its parent left.
/// @param what         "weights" or "folder"
/// @param inherit_key  see EngineOptions
std::string no_start(const trial::Trial& trial, const std::string& what, const std::string& problem,
                     const std::string& inherit_key);

/// Gives the trials of this rank their folders, and decides what becomes of them: they are the state that a
/// trial leaves, for those that continue it and for its children. The slots' threads use it, since large
/// files are copied and made durable. Folders are removed on the storage thread.
class TrialFolders {
 public:
  /// `files` must outlive this object and its queued jobs.
  TrialFolders(const RunFiles& files, const EngineOptions& options, int rank);

  struct Begun {
    trial::TrialFolder shown;
    store::BegunFolder folder;
    /// Returns whether a later attempt finds files in it.
    bool holds_files() const;
  };
  /// Makes or finds the folder of a trial. It waits, with a limit, for folders of other trials that do not
  /// show yet. If the folder of a continued trial is lost, the trial begins as that one began, with a
  /// warning.
  /// @param losses  how many attempts at the trial were lost with their ranks
  /// @return nullopt if `stop` was set meanwhile
  /// @throws UserError, FaultError also if a parent's folder is lost
  std::optional<Begun> begin(const trial::Trial& trial, std::uint32_t losses,
                             const std::atomic<bool>& stop) const;
  /// Publishes the folder of a trial that has ended, or removes it if nobody needs it. If another attempt has
  /// taken it, a failed one does nothing.
  /// @param outcome  becomes a failure if the trial left something that cannot be kept
  /// @throws FaultError
  void end(const trial::Trial& trial, const Begun& begun, trial::Outcome& outcome) const;

 private:
  void publish_or_remove(const trial::Trial& trial, const Begun& begun, bool succeeded) const;
  std::filesystem::path source_of(const trial::Trial& trial, const std::atomic<bool>& stop) const;
  std::filesystem::path parent_of(const trial::Trial& trial, const std::atomic<bool>& stop) const;

  const RunFiles& files_;
  const store::RunPaths paths_;  // absolute, since programs may change their folder
  const EngineOptions& options_;
  const int rank_;
};

/// Removes the folders of these trials on the storage thread, in portions between which other jobs come. What
/// cannot be removed stays, with a warning. `files` must outlive the jobs.
void remove_trial_folders(const RunFiles& files, std::set<trial::TrialName> names);

}  // namespace skyline::engine
