#include "store/run_folder/fresh_folder.hpp"

#include "skyline/core/error.hpp"

#include "core/config/config_text.hpp"
#include "core/text/wording.hpp"
#include "store/publish/file_descriptor.hpp"
#include "store/publish/publish.hpp"
#include "store/publish/temporary_file.hpp"
#include "store/run_folder/running_trials.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <system_error>
#include <vector>

namespace skyline::store {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostNamed = 3;

bool is_temporary(const fs::path& path) {
  TemporaryName name;
  return parse_temporary_name(path.filename().string(), name);
}

/// Returns whether a file holds no state: a temporary, or the table of slots of a job without a journal.
bool is_without_state(const fs::path& path) {
  return is_temporary(path) || is_running_table(path);
}

bool is_empty_folder(const fs::path& path) {
  std::error_code ignored;  // a folder that cannot be read is not empty
  return fs::symlink_status(path, ignored).type() == fs::file_type::directory &&
         std::ranges::all_of(list_folder(path), is_without_state);
}

/// Returns whether a job wrote the configuration. A user's own one differs by its comments and line breaks.
bool is_written_by_a_job(const fs::path& file, const fs::path& given) {
  std::error_code ignored;  // there is no configuration of the user
  if (fs::equivalent(file, given, ignored)) return false;
  try {
    const std::string text = read_file(file);
    return to_yaml(load_yaml_text(text, file.string())) == text;
  } catch (const UserError&) {
    return false;
  }
}

/// Returns whether a file comes from the scheduler, from `skyline doctor`, from a file system, or from a job
/// that ended before its first trial.
bool is_harmless(const fs::path& path, const RunPaths& paths, const fs::path& given) {
  const std::string name = path.filename().string();
  for (const char* start : {"slurm-", ".skyline-doctor.", ".nfs", "lost+found"}) {
    if (name.starts_with(start)) return true;
  }
  if (path == paths.config()) return is_written_by_a_job(path, given);
  const std::array known{paths.log().parent_path(), paths.events(), paths.owner(), paths.status_json(),
                         paths.mlflow_json()};
  return std::ranges::find(known, path) != known.end() || is_temporary(path) || is_empty_folder(path);
}

/// Returns whether only a run with trials has such a file.
bool is_of_a_run(const fs::path& path, const RunPaths& paths, std::span<const fs::path> results) {
  const std::array known{paths.weights_folder(), paths.checkpoints(), paths.courses(), paths.trace_json(),
                         paths.root / "exports"};
  return std::ranges::find(known, path) != known.end() || std::ranges::find(results, path) != results.end();
}

}  // namespace

void check_fresh_folder(const RunPaths& paths, const fs::path& config, std::span<const fs::path> results) {
  std::error_code failure;
  if (!fs::is_directory(paths.root, failure)) return;  // making or claiming it says why not
  std::vector<std::string> of_run;
  std::vector<std::string> foreign;
  for (const fs::path& path : list_folder(paths.root)) {
    if (is_harmless(path, paths, config)) continue;
    (is_of_a_run(path, paths, results) ? of_run : foreign).push_back(path.filename().string());
  }
  std::vector<std::string>& names = foreign.empty() ? of_run : foreign;
  if (names.empty()) return;
  std::ranges::sort(names);
  const std::size_t more = names.size() - std::min(names.size(), kMostNamed);
  names.resize(names.size() - more);
  const std::string listed = joined(names) + (more > 0 ? " and " + std::to_string(more) + " more" : "");
  throw UserError(paths.root.string() +
                  (foreign.empty() ? ": holds " + listed +
                                         " of a run, whose journal.jsonl is gone: restore it, "
                                         "or name another folder"
                                   : ": holds files that are no run's (" + listed + "): name a new folder"));
}

}  // namespace skyline::store
