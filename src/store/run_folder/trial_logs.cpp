#include "store/run_folder/trial_logs.hpp"

#include "skyline/core/error.hpp"

#include "core/log.hpp"
#include "store/publish/file_descriptor.hpp"
#include "store/publish/publish.hpp"
#include "store/publish/retry_policy.hpp"
#include "store/run_folder/run_folder.hpp"

#include <algorithm>
#include <cerrno>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

namespace skyline::store {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kFailed = ".failed";

/// Removes a log with one attempt. One that stays is removed by a later job.
void remove_once(const fs::path& log) {
  const IoOperation operation("remove", log);
  (void)::unlink(log.c_str());
}

/// Returns the files of a folder whose names do not say that their trial has failed, oldest first.
std::vector<fs::path> logs_of_success(const fs::path& folder) {
  std::vector<std::pair<fs::file_time_type, fs::path>> found;
  for (const fs::path& path : list_folder(folder)) {
    const IoOperation operation("look at", path);
    std::error_code gone;
    const auto time = fs::last_write_time(path, gone);
    const bool failed = path.filename().string().find(kFailed) != std::string::npos;
    if (!gone && !failed) found.emplace_back(time, path);
  }
  std::ranges::sort(found);
  std::vector<fs::path> paths;
  for (auto& [time, path] : found) paths.push_back(std::move(path));
  return paths;
}

}  // namespace

TrialLogs::TrialLogs(const fs::path& run, std::size_t most)
    : folder_(RunPaths{run}.trial_logs()), most_(most) {
  make_own_folder(folder_);
}

fs::path TrialLogs::path(trial::TrialName trial, std::size_t process, std::size_t processes) const {
  return folder_ / (to_text(trial) + (processes > 1 ? ".process" + std::to_string(process) : "") + ".log");
}

fs::path TrialLogs::keep(const fs::path& log, bool failed) {
  if (!failed) {
    const std::lock_guard lock(mutex_);
    std::erase(succeeded_, log);  // a trial that was repeated here has this log already
    succeeded_.push_back(log);
    for (; succeeded_.size() > most_; succeeded_.pop_front()) remove_once(succeeded_.front());
    return log;
  }
  try {
    const std::string name = (folder_ / log.stem()).string() + std::string(kFailed);
    fs::path kept = name + ".log";
    for (int number = 2; store::exists(kept); ++number) kept = name + std::to_string(number) + ".log";
    rename_entry(log, kept);
    return kept;
  } catch (const Problem& problem) {  // the result does not depend on a log
    log::warning(problem.what());
    return log;
  }
}

bool TrialLogs::should_tell(const std::string& what) const {
  const fs::path told = folder_.parent_path() / ("told." + what);
  const IoOperation operation("create", told);
  return open_file(told, O_WRONLY | O_CREAT | O_EXCL, 0666) || errno != EEXIST;
}

void TrialLogs::prune(const fs::path& run, std::size_t most) {
  const fs::path folder = RunPaths{run}.trial_logs();
  if (!store::exists(folder)) return;
  std::vector<fs::path> logs = logs_of_success(folder);
  logs.resize(logs.size() - std::min(logs.size(), most));
  for (const fs::path& log : logs) remove_once(log);
}

}  // namespace skyline::store
