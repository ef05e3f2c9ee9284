#include "store/weights/recovery.hpp"

#include "store/publish/file_descriptor.hpp"
#include "store/publish/publish.hpp"
#include "store/publish/temporary_file.hpp"
#include "store/weights/checkpoint.hpp"

#include <filesystem>
#include <optional>
#include <set>

namespace skyline::store {
namespace {

/// Removes temporaries of any process, because only the holder of the claim writes here.
std::size_t remove_all_temporaries(const std::filesystem::path& folder) {
  std::size_t removed = 0;
  for (const std::filesystem::path& path : list_folder(folder)) {
    TemporaryName name;
    if (!parse_temporary_name(path.filename().string(), name)) continue;
    remove_file(path);
    ++removed;
  }
  return removed;
}

}  // namespace

RecoveredFolder recover_run_folder(const RunPaths& paths, const trial::CommitLog& committed,
                                   const trial::Budget& final_budget) {
  RecoveredFolder recovered;
  // Other jobs that are trying to claim the folder may have temporaries at its top, so only abandoned ones
  // are removed there.
  recovered.temporaries = remove_temporaries(paths.root);
  for (const std::filesystem::path& folder : paths.folders()) {
    recovered.temporaries += remove_all_temporaries(folder);
  }
  std::set<trial::TrialName> begun;
  for (const std::filesystem::path& path : list_folder(paths.checkpoints())) {
    const std::optional<trial::TrialName> trial = trial_of_checkpoint(path.filename().string());
    if (!trial) continue;
    if (committed.contains(*trial, final_budget)) {
      remove_file(path);
      ++recovered.checkpoints;
    } else {
      begun.insert(*trial);
    }
  }
  recovered.begun_trials = begun.size();
  return recovered;
}

}  // namespace skyline::store
