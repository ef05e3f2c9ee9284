#include "launcher/program_limits.hpp"

#include <algorithm>
#include <cerrno>
#include <string>
#include <string_view>

#include <fcntl.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

namespace skyline::launcher {
namespace {

void limit_to(pid_t process, __rlimit_resource resource, std::uint64_t most) {
  rlimit limit{};
  if (::prlimit(process, resource, nullptr, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max = std::min<rlim_t>(limit.rlim_max, most);
  ::prlimit(process, resource, &limit, nullptr);
}

/// The kernel ends the process with the largest value first.
void offer_to_kernel(pid_t process) {
  const std::string path = "/proc/" + std::to_string(process) + "/oom_score_adj";
  const int file = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (file < 0) return;
  constexpr std::string_view kFirst = "1000";
  (void)!::write(file, kFirst.data(), kFirst.size());
  ::close(file);
}

}  // namespace

bool bind_process(pid_t process, const std::vector<std::uint64_t>& processors) {
  if (processors.empty()) return true;
  constexpr std::uint64_t kMost = 1U << 20;
  const std::uint64_t most = *std::ranges::max_element(processors);
  if (most >= kMost) {
    errno = EINVAL;
    return false;
  }
  const std::size_t bytes = CPU_ALLOC_SIZE(most + 1);
  std::vector<std::uint64_t> memory(bytes / sizeof(std::uint64_t));
  auto* const set = reinterpret_cast<cpu_set_t*>(memory.data());
  for (const std::uint64_t processor : processors) CPU_SET_S(processor, bytes, set);
  return ::sched_setaffinity(process, bytes, set) == 0;
}

void limit_program(pid_t process, const Options& options) {
  if (!options.serves) offer_to_kernel(process);
  limit_to(process, RLIMIT_CORE, 0);
  if (options.open_files > 0) limit_to(process, RLIMIT_NOFILE, options.open_files);
}

}  // namespace skyline::launcher
