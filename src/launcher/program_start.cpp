#include "launcher/program_start.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>
#include <vector>

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace skyline::launcher {
namespace {

/// Binds this process, and with it the program, to the processors.
bool bind_to(const std::vector<std::uint64_t>& processors) {
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
  return ::sched_setaffinity(0, bytes, set) == 0;
}

void limit_to(__rlimit_resource resource, std::uint64_t most) {
  rlimit limit{};
  if (::getrlimit(resource, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max = std::min<rlim_t>(limit.rlim_max, most);
  ::setrlimit(resource, &limit);
}

/// The kernel ends the process with the largest value first.
void offer_to_kernel() {
  const int file = ::open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (file < 0) return;
  constexpr std::string_view kFirst = "1000";
  (void)!::write(file, kFirst.data(), kFirst.size());
  ::close(file);
}

void restore_signals() {
  // The system's call, since the C library refuses its own signals, which posix_spawn lets a program ignore.
  const std::array<unsigned long, 8> standard{};
  constexpr std::size_t kMaskBytes = _NSIG / 8;
  for (int number = 1; number < _NSIG; ++number) {
    ::syscall(SYS_rt_sigaction, number, standard.data(), nullptr, kMaskBytes);
  }
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

/// Becomes the program in the forked process. Returns only if that fails.
Step become_program(const Options& options, pid_t parent, int output) {
  ::setsid();
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);  // it has died before
  offer_to_kernel();
  limit_to(RLIMIT_CORE, 0);
  if (options.open_files > 0) limit_to(RLIMIT_NOFILE, options.open_files);
  if (::dup2(output, STDOUT_FILENO) < 0 || ::dup2(output, STDERR_FILENO) < 0) return Step::kLaunch;
  if (options.reports && ::dup2(kReportDescriptor, kProgramReportDescriptor) < 0) return Step::kLaunch;
  if (!options.folder.empty() && ::chdir(options.folder.c_str()) != 0) return Step::kFolder;
  restore_signals();
  ::execve(options.program[0], options.program, environ);
  return Step::kProgram;
}

}  // namespace

StartedProgram start_program(const Options& options, StartProblem& failed) {
  StartedProgram program;
  int output[2];
  int problem[2];
  failed = {Step::kProcessors, 0};
  if (!bind_to(options.processors)) {
    failed.error_number = errno;
    return program;
  }
  failed.step = Step::kLaunch;
  if (::pipe2(output, O_CLOEXEC) != 0 || ::pipe2(problem, O_CLOEXEC) != 0) {
    failed.error_number = errno;
    return program;
  }
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child < 0) {
    failed.error_number = errno;
    return program;
  }
  if (child == 0) {
    const StartProblem reason{become_program(options, parent, output[1]), errno};
    (void)!::write(problem[1], &reason, sizeof reason);
    ::_exit(1);
  }
  ::close(output[1]);
  ::close(problem[1]);
  // Only the launcher's ends: each has a file description of its own.
  for (const int end : {output[0], problem[0]}) ::fcntl(end, F_SETFL, O_NONBLOCK);
  return {.id = child, .output = output[0], .problem = problem[0]};
}

}  // namespace skyline::launcher
