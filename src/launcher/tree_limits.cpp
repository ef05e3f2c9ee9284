#include "launcher/tree_limits.hpp"

#include <array>
#include <cstdlib>
#include <cstring>

#include <fcntl.h>
#include <unistd.h>

namespace skyline::launcher {
namespace {

/// Reads the start of a file of the system into a text that ends with 0; it is empty if that fails.
template <std::size_t size>
void read_text(const char* path, std::array<char, size>& text) {
  const int file = ::open(path, O_RDONLY | O_CLOEXEC);
  const ssize_t read = file < 0 ? 0 : ::read(file, text.data(), size - 1);
  if (file >= 0) ::close(file);
  text[read > 0 ? static_cast<std::size_t>(read) : 0] = '\0';
}

/// Returns the number of processes and threads of the system: `0.50 0.40 0.30 2/1234 5678`.
std::uint64_t system_processes() {
  std::array<char, 128> text{};
  read_text("/proc/loadavg", text);
  const char* const slash = std::strchr(text.data(), '/');
  return slash == nullptr ? 0 : std::strtoull(slash + 1, nullptr, 10);
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

bool TreeLimits::should_look() const {
  return counts_processes() && system_processes() > system_processes_ + processes_.most;
}

std::optional<Notice> TreeLimits::look(const std::vector<ListedProcess>& tree) {
  system_processes_ = system_processes();
  std::uint64_t threads = 0;
  for (const ListedProcess& process : tree) threads += process.threads;
  if (auto notice = processes_.check(threads)) return notice;
  std::uint64_t memory = 0;
  for (const ListedProcess& process : tree) memory += process.resident_bytes;
  if (memory_.most > 0 && memory > memory_.most) {  // what processes share was counted more than once
    memory = 0;
    for (const ListedProcess& process : tree) memory += memory_of(process);
  }
  return memory_.check(memory);
}

std::uint64_t out_of_memory_kills() {
  std::array<char, 16384> text{};
  read_text("/proc/vmstat", text);
  const char* const line = std::strstr(text.data(), "\noom_kill ");
  return line == nullptr ? 0 : std::strtoull(line + std::strlen("\noom_kill "), nullptr, 10);
}

}  // namespace skyline::launcher
