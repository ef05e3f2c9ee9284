#include "store/run_folder/attempt_folder.hpp"

#include "skyline/core/error.hpp"

#include "core/log.hpp"
#include "core/system/process.hpp"
#include "core/system/temporary_folder.hpp"
#include "core/text/hash.hpp"
#include "store/publish/file_descriptor.hpp"
#include "store/publish/folder_tree.hpp"
#include "store/publish/publish.hpp"
#include "store/publish/retry_policy.hpp"
#include "store/run_folder/run_folder.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace skyline::store {
namespace {

namespace fs = std::filesystem;

constexpr int kBase = 36;

std::string short_text(std::uint64_t number) {
  std::array<char, 16> text{};
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), number, kBase).ptr};
}

/// Returns the beginning of the names of temporary folders: it tells apart the processes of containers and
/// boots that share the folder. Names are short, since sockets below such a folder have at most 107 letters.
std::string temporary_beginning() {
  return "sky-" + to_hex(stable_hash64(process_place())).substr(0, 6) + "-";
}

/// Returns the process and its start that the rest of such a name states.
bool is_of_live_process(std::string_view rest) {
  std::uint64_t process = 0;
  std::uint64_t ticks = 0;
  const char* const end = rest.data() + rest.size();
  const auto first = std::from_chars(rest.data(), end, process, kBase);
  if (first.ec != std::errc() || first.ptr == end) return true;  // not a name of ours
  const auto second = std::from_chars(first.ptr + 1, end, ticks, kBase);
  if (second.ec != std::errc()) return true;
  return process_start_ticks(static_cast<pid_t>(process)) == ticks;
}

/// Returns the folder in which temporary folders of attempts are made. @throws FaultError if it is not there
fs::path checked_temporary_root() {
  fs::path root = temporary_root();
  std::error_code failure;
  if (fs::is_directory(root, failure)) return root;
  throw FaultError("TMPDIR: " + root.string() + " is no folder");
}

bool belongs_to_us(const fs::path& path) {
  const IoOperation operation("look at", path);
  struct stat status {};
  return lstat(path.c_str(), &status) == 0 && status.st_uid == geteuid();
}

/// Removes a folder; what stays is named in the log.
void try_to_remove(const fs::path& folder) {
  try {
    remove_tree(folder);
  } catch (const Problem& problem) {
    log::warning(problem.what());
  }
}

using FileId = std::pair<dev_t, ino_t>;

/// Returns the files that processes of this host have open, as far as they can be seen.
std::set<FileId> open_files() {
  std::set<FileId> files;
  std::error_code failure;
  for (const fs::directory_entry& process : fs::directory_iterator("/proc", failure)) {
    std::error_code hidden;
    for (const fs::directory_entry& file : fs::directory_iterator(process.path() / "fd", hidden)) {
      struct stat status {};
      if (stat(file.path().c_str(), &status) == 0) files.emplace(status.st_dev, status.st_ino);
    }
  }
  return files;
}

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

fs::path cache_folder(const fs::path& run, const std::string& host) {
  return RunPaths{run}.trainer() / "cache" / host;
}

AttemptFolder::AttemptFolder(const fs::path& run, trial::TrialName trial)
    : root_(RunPaths{run}.trainer() / "attempts" / (to_text(trial) + "-" + to_hex(random_token()))) {
  make_own_folder(root_.parent_path());
  make_closed_folder(root_);
  try {
    temporary_ = checked_temporary_root() /
                 (temporary_beginning() + short_text(static_cast<std::uint64_t>(getpid())) + "-" +
                  short_text(process_start_ticks(getpid())) + "-" + to_hex(random_token()).substr(0, 8));
    make_closed_folder(temporary_);
  } catch (...) {
    try_to_remove(root_);
    throw;
  }
}

AttemptFolder::~AttemptFolder() {
  try_to_remove(root_);
  if (!keeps_temporary_) try_to_remove(temporary_);
}

void remove_attempts(const fs::path& run) {
  try_to_remove(RunPaths{run}.trainer() / "attempts");
}

void remove_temporary_folders() {
  const std::string beginning = temporary_beginning();
  for (const fs::path& path : list_folder(checked_temporary_root())) {
    const std::string name = path.filename().string();
    if (!name.starts_with(beginning) || is_of_live_process(std::string_view(name).substr(beginning.size()))) {
      continue;
    }
    if (belongs_to_us(path)) try_to_remove(path);
  }
}

void remove_left_locks(const fs::path& folder) {
  std::vector<std::pair<fs::path, FileId>> locks;
  std::error_code failure;
  IoOperation operation("look for locks in", folder);
  for (auto entry = fs::recursive_directory_iterator(folder, failure); entry != fs::end(entry);
       entry.increment(failure)) {
    operation.begin();
    struct stat status {};
    if (entry->path().filename() != "lock" || lstat(entry->path().c_str(), &status) != 0) continue;
    if (S_ISREG(status.st_mode)) locks.emplace_back(entry->path(), FileId(status.st_dev, status.st_ino));
  }
  if (locks.empty()) return;
  const std::set<FileId> open = open_files();
  for (const auto& [path, file] : locks) {
    if (open.contains(file)) continue;
    log::info(path.string() + ": no process holds this lock any more, it is removed");
    fs::remove(path, failure);
  }
}

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
