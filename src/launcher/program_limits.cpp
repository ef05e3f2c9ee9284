#include "launcher/program_limits.hpp"

#include "launcher/system_text.hpp"

#include <cstdlib>
#include <string_view>
#include <utility>

#include <ftw.h>
#include <sys/xattr.h>
#include <unistd.h>

namespace skyline::launcher {
namespace {

constexpr std::size_t kMostText = 4096;
constexpr std::string_view kPrefix = "skyline-";

/// Returns the folder of this process's own group, or "".
/// @param mark    end of what stands before its path: of version 2, "0::"
/// @param folder  where groups of that kind are
std::string own_group(const std::string& root,
                      const std::string& mark = "\n0::", const std::string& folder = "/sys/fs/cgroup") {
  const std::string groups = "\n" + read_text(root + "/proc/self/cgroup", kMostText);
  const std::size_t line = groups.find(mark + "/");
  if (line == std::string::npos) return {};
  const std::size_t begin = line + mark.size();
  const std::string path = groups.substr(begin, groups.find('\n', begin) - begin);
  // A namespace may show a group that is outside of what it sees: /../job.
  return path.find("/..") == std::string::npos ? root + folder + path : std::string();
}

/// Returns whether systemd, or whoever made the group, has left all below it to its user.
bool is_delegated(const std::string& group) {
  for (const char* const name : {"user.delegate", "trusted.delegate"}) {
    char value = 0;
    if (::getxattr(group.c_str(), name, &value, 1) == 1 && value == '1') return true;
  }
  return false;
}

/// Returns whether a group has no limits of its own, which a group beside it would not have.
bool is_unlimited(const std::string& group) {
  const auto is_open = [&](const char* limit) {
    const std::string text = read_text(group + limit, kMostText);
    return text.empty() || text == "max\n";
  };
  return is_open("/memory.max") && is_open("/pids.max");
}

/// Returns the folder in which groups for programs can be made, or "".
std::string delegated_parent(const std::string& root) {
  const std::string own = own_group(root);
  const std::size_t slash = own.rfind('/');
  if (own.empty() || slash + 1 == own.size()) return {};
  const std::string_view name = std::string_view(own).substr(slash + 1);
  // The parent of a unit belongs to a systemd, and that of such a group here to the program of another
  // search.
  if (name.ends_with(".service") || name.ends_with(".scope") || name.ends_with(".slice")) return {};
  if (name.starts_with(kPrefix)) return {};
  const std::string parent = own.substr(0, slash);
  // What moves a process between two groups needs the right to do so in the parent of both.
  const bool may_be_used = is_delegated(parent) && is_unlimited(own) &&
                           ::access((parent + "/cgroup.procs").c_str(), W_OK) == 0 &&
                           write_text(parent + "/cgroup.subtree_control", "+memory +pids");
  return may_be_used ? parent : std::string();
}

bool set_limits(const std::string& group, const Options& options) {
  const auto limit = [](std::uint64_t most) { return most == 0 ? std::string("max") : std::to_string(most); };
  write_text(group + "/memory.swap.max", "0");  // no swapping: it slows programs down
  return write_text(group + "/memory.oom.group", "1") &&
         write_text(group + "/memory.max", limit(options.memory)) &&
         write_text(group + "/pids.max", limit(options.processes));
}

int remove_if_group(const char* path, const struct stat* /*status*/, int type, struct FTW* /*place*/) {
  if (type == FTW_DP) ::rmdir(path);
  return 0;
}

/// Returns the number of processes and threads of the system: `0.50 0.40 0.30 2/1234 5678`.
std::uint64_t system_processes() {
  const std::string text = read_text("/proc/loadavg", 128);
  const std::size_t slash = text.find('/');
  return slash == std::string::npos ? 0 : std::strtoull(text.c_str() + slash + 1, nullptr, 10);
}

}  // namespace

std::optional<ControlGroup> ControlGroup::make(const Options& options, const std::string& root) {
  if (options.serves || (options.memory == 0 && options.processes == 0)) return std::nullopt;
  std::string folder = delegated_parent(root);
  if (folder.empty()) return std::nullopt;
  folder += '/' + std::string(kPrefix) + "XXXXXX";
  if (::mkdtemp(folder.data()) == nullptr) return std::nullopt;
  if (set_limits(folder, options)) return ControlGroup(std::move(folder), options);
  ::rmdir(folder.c_str());
  return std::nullopt;
}

ControlGroup::ControlGroup(std::string folder, const Options& options)
    : folder_(std::move(folder)), memory_(options.memory), processes_(options.processes) {}

ControlGroup::ControlGroup(ControlGroup&& other) noexcept
    : folder_(std::exchange(other.folder_, {})), memory_(other.memory_), processes_(other.processes_) {}

ControlGroup::~ControlGroup() {
  if (folder_.empty()) return;
  constexpr int kDescriptors = 8;
  // The program may have made groups below its own.
  ::nftw(folder_.c_str(), remove_if_group, kDescriptors, FTW_DEPTH | FTW_PHYS);
}

bool ControlGroup::add_process(pid_t process) const {
  return write_text(folder_ + "/cgroup.procs", std::to_string(process));
}

std::optional<Notice> ControlGroup::excess() const {
  const auto events = [this](const char* file, const char* name) {
    return count_in(read_text(folder_ + file, kMostText), name);
  };
  // Counts kills for any reason, also in a group below.
  if (events("/memory.events", "oom_kill") > 0) {
    const bool at_limit = events("/memory.events.local", "oom") > 0;
    return Notice{.news = News::kOutOfMemory, .amount = at_limit ? memory_ : 0};
  }
  // Before Linux 6.11 this also counts what the limit of a group above has refused.
  if (processes_ > 0 && events("/pids.events", "max") > 0) {
    const std::string most = read_text(folder_ + "/pids.peak", kMostText);  // since Linux 6.1
    if (most.empty() || std::strtoull(most.c_str(), nullptr, 10) >= processes_)
      return Notice{.news = News::kManyProcesses, .amount = processes_};
  }
  return std::nullopt;
}

std::optional<Notice> TreeLimits::Limit::check(std::uint64_t amount) {
  if (most == 0) return std::nullopt;
  const bool is_exceeded = amount > most;
  const bool is_too_much = is_exceeded && (was_exceeded || amount / 2 >= most);
  was_exceeded = is_exceeded;
  if (!is_too_much) return std::nullopt;
  return Notice{.news = news, .amount = amount};
}

bool TreeLimits::should_check() const {
  return counts_processes() && system_processes() > system_processes_ + processes_.most;
}

std::optional<Notice> TreeLimits::check(const std::vector<ListedProcess>& tree) {
  system_processes_ = system_processes();
  std::uint64_t threads = 0;
  for (const ListedProcess& process : tree) threads += process.threads;
  if (auto notice = processes_.check(threads)) return notice;
  std::uint64_t memory = 0;
  for (const ListedProcess& process : tree) memory += process.resident_bytes;
  // Shared memory was counted more than once: count again with each process' part of it.
  if (memory_.most > 0 && memory > memory_.most) {
    memory = 0;
    for (const ListedProcess& process : tree) memory += memory_of(process);
  }
  return memory_.check(memory);
}

std::uint64_t out_of_memory_kills(const std::string& root) {
  const auto kills = [](const std::string& file) {
    return count_in(read_text(file, 16384), "oom_kill");  // 0 if there is none
  };
  return kills(root + "/proc/vmstat") + kills(own_group(root) + "/memory.events") +
         kills(own_group(root, ":memory:", "/sys/fs/cgroup/memory") + "/memory.oom_control");
}

}  // namespace skyline::launcher
