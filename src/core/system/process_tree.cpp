#include "core/system/process_tree.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

namespace skyline {
namespace {

constexpr std::uint64_t kKibibyte = 1024;

/// Reads the start of a file of a process as text that ends with 0. Returns false if there is none.
template <std::size_t size>
bool read_process_file(pid_t process, const char* name, std::array<char, size>& text) {
  std::array<char, 64> path{};
  std::snprintf(path.data(), path.size(), "/proc/%d/%s", static_cast<int>(process), name);
  const int file = ::open(path.data(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  const ssize_t read = ::read(file, text.data(), size - 1);
  ::close(file);
  if (read <= 0) return false;
  text[static_cast<std::size_t>(read)] = '\0';
  return true;
}

bool read_stat(pid_t id, ListedProcess& process) {
  std::array<char, 1024> text{};
  if (!read_process_file(id, "stat", text)) return false;
  const char* const name_end = std::strrchr(text.data(), ')');  // the name may contain spaces and parentheses
  if (name_end == nullptr) return false;
  int parent = 0;
  int group = 0;
  int session = 0;
  long threads = 0;  // 0 for a process that has ended
  long pages = 0;
  constexpr const char* kFields =
      " %*c %d %d %d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %ld %*d %*u %*u %ld";
  if (std::sscanf(name_end + 1, kFields, &parent, &group, &session, &threads, &pages) != 5) return false;
  static const auto page_bytes = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  process = {id,
             parent,
             group,
             session,
             static_cast<std::uint64_t>(std::max(pages, 0L)) * page_bytes,
             static_cast<std::uint64_t>(std::max(threads, 1L))};
  return true;
}

}  // namespace

std::vector<ListedProcess> list_processes() {
  std::vector<ListedProcess> processes;
  DIR* const folder = ::opendir("/proc");
  if (folder == nullptr) return processes;
  while (const dirent* entry = ::readdir(folder)) {
    const int id = std::atoi(entry->d_name);
    ListedProcess process;
    if (id > 0 && read_stat(id, process)) processes.push_back(process);
  }
  ::closedir(folder);
  return processes;
}

std::vector<ListedProcess> descendants_of(std::span<const pid_t> ancestors,
                                          const std::vector<ListedProcess>& all) {
  std::vector<ListedProcess> by_parent = all;
  std::ranges::sort(by_parent, {}, &ListedProcess::parent);
  std::vector<ListedProcess> found;
  const auto add_children = [&](pid_t parent) {
    auto child = std::ranges::lower_bound(by_parent, parent, {}, &ListedProcess::parent);
    for (; child != by_parent.end() && child->parent == parent; ++child) found.push_back(*child);
  };
  for (const pid_t ancestor : ancestors) add_children(ancestor);
  // The list was not read at one moment: with a number that was used again it could have a circle.
  for (std::size_t i = 0; i < found.size() && found.size() <= all.size(); ++i) add_children(found[i].id);
  return found;
}

void kill_processes(const std::vector<ListedProcess>& processes) {
  const pid_t own_group = ::getpgrp();
  std::vector<pid_t> groups;
  for (const ListedProcess& process : processes) {
    if (process.group > 1 && process.group != own_group) groups.push_back(process.group);
  }
  std::ranges::sort(groups);
  groups.erase(std::unique(groups.begin(), groups.end()), groups.end());
  for (const pid_t group : groups) ::kill(-group, SIGKILL);
  for (const ListedProcess& process : processes) ::kill(process.id, SIGKILL);
}

std::uint64_t memory_of(const ListedProcess& process) {
  std::array<char, 4096> text{};
  if (!read_process_file(process.id, "smaps_rollup", text)) return process.resident_bytes;
  const char* const line = std::strstr(text.data(), "\nPss:");
  return line == nullptr ? process.resident_bytes : std::strtoull(line + 5, nullptr, 10) * kKibibyte;
}

}  // namespace skyline
