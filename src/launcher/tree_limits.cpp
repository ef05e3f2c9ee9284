#include "launcher/tree_limits.hpp"

#include "launcher/system_text.hpp"

#include <cstdlib>
#include <string>

namespace skyline::launcher {
namespace {

/// Returns the number of processes and threads of the system: `0.50 0.40 0.30 2/1234 5678`.
std::uint64_t system_processes() {
  const std::string text = read_text("/proc/loadavg", 128);
  const std::size_t slash = text.find('/');
  return slash == std::string::npos ? 0 : std::strtoull(text.c_str() + slash + 1, nullptr, 10);
}

}  // namespace

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

}  // namespace skyline::launcher
