#include "core/system/process.hpp"

#include "skyline/core/error.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <system_error>

#include <sched.h>
#include <signal.h>
#include <unistd.h>

namespace skyline {
namespace {

// A set of processors, sized at run time: the fixed cpu_set_t ends at 1024 processors.
class ProcessorSet {
 public:
  explicit ProcessorSet(int capacity)
      : capacity_(capacity), set_(CPU_ALLOC(static_cast<std::size_t>(capacity))) {
    require(set_ != nullptr, "out of memory for a processor set");
    CPU_ZERO_S(bytes(), set_.get());
  }
  int capacity() const { return capacity_; }
  std::size_t bytes() const { return CPU_ALLOC_SIZE(static_cast<std::size_t>(capacity_)); }
  cpu_set_t* get() { return set_.get(); }
  bool has(int processor) const {
    return CPU_ISSET_S(static_cast<std::size_t>(processor), bytes(), set_.get()) != 0;
  }
  void add(int processor) { CPU_SET_S(static_cast<std::size_t>(processor), bytes(), set_.get()); }

 private:
  struct Free {
    void operator()(cpu_set_t* set) const { CPU_FREE(set); }
  };
  int capacity_;
  std::unique_ptr<cpu_set_t, Free> set_;
};

}  // namespace

std::vector<int> allowed_processors() {
  constexpr int kLargest = 1 << 20;
  for (int capacity = 1024; capacity <= kLargest; capacity *= 4) {
    ProcessorSet set(capacity);
    if (sched_getaffinity(0, set.bytes(), set.get()) != 0) {
      require(errno == EINVAL, "sched_getaffinity failed");  // EINVAL: the kernel's mask is longer
      continue;
    }
    std::vector<int> processors;
    for (int processor = 0; processor < capacity; ++processor) {
      if (set.has(processor)) processors.push_back(processor);
    }
    return processors;
  }
  throw InternalError("the kernel's processor mask is longer than a million");
}

bool bind_this_thread(int processor) {
  return bind_this_thread(std::vector<int>{processor});
}

bool bind_this_thread(const std::vector<int>& processors) {
  if (processors.empty() || std::ranges::min(processors) < 0) return false;
  ProcessorSet set(std::ranges::max(processors) + 1);
  for (const int processor : processors) set.add(processor);
  return sched_setaffinity(0, set.bytes(), set.get()) == 0;
}

std::optional<std::string> process_variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

std::string host_name() {
  std::array<char, 256> buffer{};
  if (::gethostname(buffer.data(), buffer.size() - 1) != 0 || buffer[0] == '\0') return "unknown";
  std::string name(buffer.data());
  for (char& letter : name) {
    const bool plain =
        std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '-' || letter == '.';
    if (!plain) letter = '_';
  }
  return name;
}

std::string process_place() {
  std::string boot;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), boot);
  std::array<char, 64> space{};
  const ssize_t length = ::readlink("/proc/self/ns/pid", space.data(), space.size() - 1);
  return host_name() + " " + boot + " " + (length > 0 ? space.data() : "");
}

namespace {

/// Returns the fields of a process after its name, which may itself contain spaces and parentheses; empty if
/// /proc does not show the process.
std::string process_fields(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  std::string text;
  std::getline(file, text);
  const std::size_t name_end = text.rfind(')');
  return name_end == std::string::npos ? "" : text.substr(name_end + 1);
}

bool has_ended(const std::string& state) {
  return state == "Z" || state == "X";
}

}  // namespace

std::uint64_t process_start_ticks(pid_t process) {
  std::istringstream fields(process_fields(process));
  std::string state;
  fields >> state;
  if (has_ended(state)) return 0;
  constexpr int kFieldsToStartTime = 18;  // fields 4 to 21; the start time is field 22
  std::string skipped;
  for (int i = 0; i < kFieldsToStartTime; ++i) fields >> skipped;
  std::uint64_t ticks = 0;
  fields >> ticks;
  return ticks;
}

std::string expand_home(const std::string& path, const VariableLookup& variable) {
  if (!path.starts_with('~')) return path;
  if (path.size() > 1 && path[1] != '/')
    throw UserError(path + ": expected ~/ for the home folder, or ./~ for a file of this name");
  const std::optional<std::string> home = variable("HOME");
  if (!home || home->empty()) throw UserError(path + ": HOME is not set, so that ~ means nothing");
  return *home + path.substr(1);
}

bool process_exists(pid_t process) {
  std::string state;
  if (std::istringstream(process_fields(process)) >> state) return !has_ended(state);
  return ::kill(process, 0) == 0 || errno == EPERM;
}

std::vector<pid_t> suspended_processes() {
  std::vector<pid_t> found;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", ignored)) {
    const std::string name = entry.path().filename();
    pid_t process = 0;
    const auto end = std::from_chars(name.data(), name.data() + name.size(), process);
    if (end.ec != std::errc() || end.ptr != name.data() + name.size()) continue;
    std::string state;
    if (std::istringstream(process_fields(process)) >> state && state == "T") found.push_back(process);
  }
  return found;
}

std::optional<std::string> variable_of_process(pid_t process, const char* name) {
  std::ifstream file("/proc/" + std::to_string(process) + "/environ");
  const std::string start = std::string(name) + "=";
  for (std::string variable; std::getline(file, variable, '\0');) {
    if (variable.starts_with(start)) return variable.substr(start.size());
  }
  return std::nullopt;
}

}  // namespace skyline
