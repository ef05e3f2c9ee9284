#include "engine/slots/trial_folders.hpp"

#include "skyline/core/error.hpp"

#include "core/log.hpp"
#include "core/text/wording.hpp"
#include "engine/slots/evaluation.hpp"
#include "engine/work/run_files.hpp"
#include "store/journal/trial_json.hpp"
#include "store/publish/folder_tree.hpp"
#include "store/publish/retry_policy.hpp"
#include "trial/refit.hpp"

#include <string>
#include <utility>

namespace skyline::engine {
namespace {

/// Waits for a published folder that may not show yet.
/// @param waited_s  set to the time of the wait
store::FolderFinding await_folder(const store::RunPaths& paths, trial::TrialNumber trial, double most_s,
                                  const std::atomic<bool>& stop, double& waited_s) {
  store::FolderFinding found;
  waited_s = try_for(most_s, stop, [&] {
    found = store::find_published_folder(paths, {trial});
    return !found.path.empty() || !found.is_transient;
  });
  return found;
}

}  // namespace

std::string no_start(const trial::Trial& trial, const std::string& what, const std::string& problem,
                     const std::string& inherit_key) {
  return "trial " + std::to_string(trial.number) + " cannot start from the " + what + " of trial " +
         std::to_string(trial.inherits()->from) + ": " + problem +
         " (bring the file back from a backup and resume with --resume, or start a new run" +
         (inherit_key.empty() ? "" : " with " + inherit_key + ": false") + ")";
}

bool TrialFolders::Begun::holds_files() const {
  return store::is_in_place(folder) && !store::is_empty_folder(folder.path);
}

TrialFolders::TrialFolders(const RunFiles& files, const EngineOptions& options, int rank)
    : files_(files), paths_{std::filesystem::absolute(files.paths.root)}, options_(options), rank_(rank) {}

/// Returns the folder that the continued trial left, or an empty path.
std::filesystem::path TrialFolders::source_of(const trial::Trial& trial,
                                              const std::atomic<bool>& stop) const {
  const trial::Continue& earlier = *trial.continues();
  const bool may_show_later = earlier.holder >= 0 && earlier.holder != rank_;
  const double most_s = may_show_later ? kVisibleAfter * store::patience_s() : 0;
  double waited_s = 0;
  const store::FolderFinding found = await_folder(paths_, earlier.from, most_s, stop, waited_s);
  if (found.path.empty() && !stop) {
    log::warning("trial " + to_text(trial.name()) + ": the folder of trial " + std::to_string(earlier.from) +
                 " is lost: " + found.problem + "; training from the start");
  }
  return found.path;
}

std::filesystem::path TrialFolders::parent_of(const trial::Trial& trial,
                                              const std::atomic<bool>& stop) const {
  double waited_s = 0;
  const store::FolderFinding found =
      await_folder(paths_, trial.inherits()->from, kVisibleAfter * store::patience_s(), stop, waited_s);
  if (!found.path.empty() || stop) return found.path;
  if (!found.is_transient) throw UserError(no_start(trial, "folder", found.problem, options_.inherit_key));
  throw FaultError(no_start(trial, "folder",
                            found.problem + " after " + seconds_text(waited_s) + " of waiting",
                            options_.inherit_key));
}

std::optional<TrialFolders::Begun> TrialFolders::begin(const trial::Trial& trial, std::uint32_t losses,
                                                       const std::atomic<bool>& stop) const {
  Begun begun;
  std::filesystem::path source;
  if (trial.continues() != nullptr) source = source_of(trial, stop);
  if (trial.inherits() != nullptr) begun.shown.parent = parent_of(trial, stop);
  if (stop) return std::nullopt;
  auto folder = store::begin_folder(paths_, trial.name(), store::provenance(trial, files_.stamp()), losses,
                                    source, [&stop] { return stop.load(); });
  if (!folder) return std::nullopt;
  begun.folder = std::move(*folder);
  begun.shown.path = begun.folder.path;
  begun.shown.resumed = !store::is_empty_folder(begun.folder.path);
  return begun;
}

void TrialFolders::end(const trial::Trial& trial, const Begun& begun, trial::Outcome& outcome) const {
  try {
    publish_or_remove(trial, begun, trial::is_whole(outcome));
  } catch (const UserError& mistake) {  // mistake of the trial's program
    outcome = trial::Failure{trial::FailureKind::kProgram, fit_reason(mistake.what())};
    publish_or_remove(trial, begun, false);
  }
}

void TrialFolders::publish_or_remove(const trial::Trial& trial, const Begun& begun, bool succeeded) const {
  const bool is_kept = options_.keep_weights != KeepWeights::kNone && trial::leaves_model(trial);
  const bool is_read = trial.may_be_continued() || (options_.inherit && !trial.is_final());
  if (succeeded && (is_read || (is_kept && begun.holds_files()))) {
    store::publish_folder(paths_, trial.name(), begun.folder);
  } else if (store::is_in_place(begun.folder)) {
    remove_trial_folders(files_, {trial.name()});
  }
}

void remove_trial_folders(const RunFiles& files, std::set<trial::TrialName> names) {
  files.storage.post([&files, names = std::move(names)]() mutable {
    const trial::TrialName first = *names.begin();
    try {
      if (store::remove_folders(files.paths, first)) names.erase(first);
    } catch (const Problem& problem) {
      log::warning("the folder of trial " + to_text(first) + " stays: " + problem.what());
      names.erase(first);
    }
    if (!names.empty()) remove_trial_folders(files, std::move(names));
  });
}

}  // namespace skyline::engine
