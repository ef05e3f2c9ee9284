#include "launcher/control_group.hpp"

#include "launcher/system_text.hpp"

#include <cstdlib>
#include <utility>

#include <sys/xattr.h>
#include <unistd.h>

namespace skyline::launcher {
namespace {

constexpr std::size_t kMostText = 4096;

/// Returns the folder of this process's own group of version 2, or "".
std::string own_group(const std::string& root) {
  const std::string groups = "\n" + read_text(root + "/proc/self/cgroup", kMostText);
  constexpr std::string_view kMark = "\n0::/";
  const std::size_t line = groups.find(kMark);
  if (line == std::string::npos) return {};
  const std::size_t begin = line + kMark.size() - 1;
  const std::string path = groups.substr(begin, groups.find('\n', begin) - begin);
  // A namespace may show a group that is outside of what it sees: /../job.
  return path.find("/..") == std::string::npos ? root + "/sys/fs/cgroup" + path : std::string();
}

/// Returns whether systemd, or whoever made the group, has left all below it to its user.
bool is_delegated(const std::string& group) {
  for (const char* const name : {"user.delegate", "trusted.delegate"}) {
    char value = 0;
    if (::getxattr(group.c_str(), name, &value, 1) == 1 && value == '1') return true;
  }
  return false;
}

/// Returns the folder in which groups for programs can be made, or "".
std::string delegated_parent(const std::string& root) {
  const std::string own = own_group(root);
  const std::string parent = own.substr(0, own.rfind('/'));
  // What moves a process between two groups needs the right to do so in the parent of both.
  const bool may_be_used = !own.empty() && is_delegated(parent) &&
                           ::access((parent + "/cgroup.procs").c_str(), W_OK) == 0 &&
                           write_text(parent + "/cgroup.subtree_control", "+memory +pids");
  return may_be_used ? parent : std::string();
}

bool set_limits(const std::string& group, const Options& options) {
  const auto limit = [](std::uint64_t most) { return most == 0 ? std::string("max") : std::to_string(most); };
  write_text(group + "/memory.swap.max", "0");  // where memory can be swapped, which slows a program down
  return write_text(group + "/memory.oom.group", "1") &&
         write_text(group + "/memory.max", limit(options.memory)) &&
         write_text(group + "/pids.max", limit(options.processes));
}

}  // namespace

std::optional<ControlGroup> ControlGroup::make(const Options& options, const std::string& root) {
  if (options.serves || (options.memory == 0 && options.processes == 0)) return std::nullopt;
  std::string folder = delegated_parent(root);
  if (folder.empty()) return std::nullopt;
  folder += "/skyline-XXXXXX";
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
  if (!folder_.empty()) ::rmdir(folder_.c_str());
}

bool ControlGroup::take(pid_t process) const {
  return write_text(folder_ + "/cgroup.procs", std::to_string(process));
}

std::optional<Notice> ControlGroup::excess() const {
  const std::string memory = read_text(folder_ + "/memory.events", kMostText);
  if (count_in(memory, "oom_kill") > 0) {  // `oom` counts what this group's own limit was the reason of
    return Notice{.news = News::kOutOfMemory, .amount = count_in(memory, "oom") > 0 ? memory_ : 0};
  }
  if (processes_ > 0 && count_in(read_text(folder_ + "/pids.events", kMostText), "max") > 0) {
    return Notice{.news = News::kManyProcesses, .amount = processes_};
  }
  return std::nullopt;
}

}  // namespace skyline::launcher
