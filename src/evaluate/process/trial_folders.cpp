#include "evaluate/process/trial_folders.hpp"

#include "skyline/core/error.hpp"

#include "core/log.hpp"
#include "core/system/process.hpp"
#include "core/text/hash.hpp"
#include "store/publish/publish.hpp"
#include "store/run_folder/run_folder.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <sys/stat.h>
#include <unistd.h>

namespace skyline::evaluate {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kFailed = ".failed";

void make_private_folder(const fs::path& folder) {
  if (mkdir(folder.c_str(), S_IRWXU) == 0) return;
  throw FaultError("cannot make " + folder.string() + ": " + std::generic_category().message(errno));
}

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

/// Returns the folder for temporary ones. @throws FaultError if it is not there
fs::path temporary_root() {
  std::error_code failure;
  fs::path root = fs::temp_directory_path(failure);
  if (!failure) return root;
  throw FaultError("TMPDIR: " + process_variable("TMPDIR").value_or("/tmp") + " is no folder");
}

void remove_tree(const fs::path& folder) {
  std::error_code failure;
  fs::remove_all(folder, failure);
  if (failure) log::warning(folder.string() + " could not be removed: " + failure.message());
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

/// Returns the files of a folder whose names do not say that their trial has failed, oldest first.
std::vector<fs::path> logs_of_success(const fs::path& folder) {
  std::vector<std::pair<fs::file_time_type, fs::path>> found;
  std::error_code failure;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, failure)) {
    std::error_code gone;
    const auto time = entry.last_write_time(gone);
    const bool failed = entry.path().filename().string().find(kFailed) != std::string::npos;
    if (!gone && !failed) found.emplace_back(time, entry.path());
  }
  std::ranges::sort(found);
  std::vector<fs::path> paths;
  for (auto& [time, path] : found) paths.push_back(std::move(path));
  return paths;
}

}  // namespace

fs::path cache_folder(const fs::path& run, const std::string& host) {
  return store::RunPaths{run}.trainer() / "cache" / host;
}

AttemptFolder::AttemptFolder(const fs::path& run, trial::TrialName trial)
    : root_(store::RunPaths{run}.trainer() / "attempts" / (to_text(trial) + "-" + to_hex(random_token()))) {
  store::make_own_folder(root_.parent_path());
  make_private_folder(root_);
  try {
    temporary_ = temporary_root() /
                 (temporary_beginning() + short_text(static_cast<std::uint64_t>(getpid())) + "-" +
                  short_text(process_start_ticks(getpid())) + "-" + to_hex(random_token()).substr(0, 8));
    make_private_folder(temporary_);
  } catch (...) {
    remove_tree(root_);
    throw;
  }
}

AttemptFolder::~AttemptFolder() {
  remove_tree(root_);
  if (!keeps_temporary_) remove_tree(temporary_);
}

void remove_attempts(const fs::path& run) {
  remove_tree(store::RunPaths{run}.trainer() / "attempts");
}

void remove_temporary_folders() {
  const std::string beginning = temporary_beginning();
  std::error_code failure;
  for (const fs::directory_entry& entry : fs::directory_iterator(temporary_root(), failure)) {
    const std::string name = entry.path().filename().string();
    struct stat status {};
    if (!name.starts_with(beginning) || is_of_live_process(std::string_view(name).substr(beginning.size()))) {
      continue;
    }
    if (lstat(entry.path().c_str(), &status) == 0 && status.st_uid == geteuid()) remove_tree(entry.path());
  }
}

void remove_left_locks(const fs::path& folder) {
  std::vector<std::pair<fs::path, FileId>> locks;
  std::error_code failure;
  for (auto entry = fs::recursive_directory_iterator(folder, failure); entry != fs::end(entry);
       entry.increment(failure)) {
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
    : folder_(store::RunPaths{run}.trial_logs()), most_(most) {
  store::make_own_folder(folder_);
}

fs::path TrialLogs::path(trial::TrialName trial, std::size_t process, std::size_t processes) const {
  return folder_ / (to_text(trial) + (processes > 1 ? ".process" + std::to_string(process) : "") + ".log");
}

fs::path TrialLogs::keep(const fs::path& log, bool failed) {
  std::error_code failure;
  if (!failed) {
    const std::lock_guard lock(mutex_);
    std::erase(succeeded_, log);  // of a trial that was repeated here
    succeeded_.push_back(log);
    for (; succeeded_.size() > most_; succeeded_.pop_front()) fs::remove(succeeded_.front(), failure);
    return log;
  }
  const std::string name = (folder_ / log.stem()).string() + std::string(kFailed);
  fs::path kept = name + ".log";
  for (int number = 2; fs::exists(kept, failure); ++number) kept = name + std::to_string(number) + ".log";
  fs::rename(log, kept, failure);
  return failure ? log : kept;
}

void TrialLogs::prune(const fs::path& run, std::size_t most) {
  std::vector<fs::path> logs = logs_of_success(store::RunPaths{run}.trial_logs());
  logs.resize(logs.size() - std::min(logs.size(), most));
  std::error_code failure;
  for (const fs::path& log : logs) fs::remove(log, failure);
}

}  // namespace skyline::evaluate
