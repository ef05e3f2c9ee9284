#include "launcher/program_start.hpp"

#include "launcher/launch_protocol.hpp"
#include "launcher/options.hpp"
#include "launcher/system_text.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <string>
#include <vector>

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

namespace skyline::launcher {
namespace {

void limit_to(pid_t process, __rlimit_resource resource, std::uint64_t most) {
  rlimit limit{};
  if (::prlimit(process, resource, nullptr, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max = std::min<rlim_t>(limit.rlim_max, most);
  ::prlimit(process, resource, &limit, nullptr);
}

/// Binds a process, and what it starts later, to the processors; to none in particular if there are none. 0
/// is this process. Returns false and sets errno if that fails.
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

/// Gives a process the limits that the kernel keeps, as far as it takes them: no core file, and the number of
/// open files. Unless it serves, the kernel ends it, rather than others, when memory is short.
void limit_program(pid_t process, const Options& options) {
  // The kernel ends the process with the largest value first.
  if (!options.serves) (void)write_text("/proc/" + std::to_string(process) + "/oom_score_adj", "1000");
  limit_to(process, RLIMIT_CORE, 0);
  if (options.open_files > 0) limit_to(process, RLIMIT_NOFILE, options.open_files);
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
Step become_program(const Options& options, const std::optional<ControlGroup>& group, pid_t parent,
                    int output) {
  // Another group may have other processors, and older kernels then forget which of them were chosen.
  if (group && !(group->add_process(0) && bind_process(0, options.processors))) return Step::kLaunch;
  ::setsid();
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);  // it has died before
  limit_program(::getpid(), options);
  if (::dup2(output, STDOUT_FILENO) < 0 || ::dup2(output, STDERR_FILENO) < 0) return Step::kLaunch;
  if (options.reports && ::dup2(kReportDescriptor, kProgramReportDescriptor) < 0) return Step::kLaunch;
  if (!options.folder.empty() && ::chdir(options.folder.c_str()) != 0) return Step::kFolder;
  restore_signals();
  ::execve(options.program[0], options.program, environ);
  return Step::kProgram;
}

StartedProgram refuse(pid_t child, Step step, StartProblem& failed) {
  failed = {step, errno};
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  return {};
}

}  // namespace

StartedProgram start_program(const Options& options, const std::optional<ControlGroup>& group,
                             StartProblem& failed) {
  StartedProgram program;
  int output[2];
  int problem[2];
  failed = {Step::kProcessors, 0};
  if (!bind_process(0, options.processors)) {
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
    const StartProblem reason{become_program(options, group, parent, output[1]), errno};
    (void)!::write(problem[1], &reason, sizeof reason);
    ::_exit(1);
  }
  ::close(output[1]);
  ::close(problem[1]);
  // Only the launcher's ends: each has a file description of its own.
  for (const int end : {output[0], problem[0]}) ::fcntl(end, F_SETFL, O_NONBLOCK);
  return {.id = child, .output = output[0], .problem = problem[0]};
}

StartedProgram adopt_program(const Options& options, const std::optional<ControlGroup>& group,
                             StartProblem& failed) {
  const auto child = static_cast<pid_t>(options.adopt);
  if (group && !group->add_process(child)) return refuse(child, Step::kLaunch, failed);
  if (!bind_process(0, options.processors) || !bind_process(child, options.processors)) {
    return refuse(child, Step::kProcessors, failed);
  }
  limit_program(child, options);
  int problem[2];
  if (::pipe2(problem, O_CLOEXEC) != 0) return refuse(child, Step::kLaunch, failed);
  ::close(problem[1]);  // so Watch reads at once that it runs
  for (const int end : {kOutputDescriptor, problem[0]}) ::fcntl(end, F_SETFL, O_NONBLOCK);
  const char begin = 1;
  (void)!::write(kGoDescriptor, &begin,
                 sizeof begin);  // a child that is dead by now has an end, as any other one
  ::close(kGoDescriptor);
  return {.id = child, .output = kOutputDescriptor, .problem = problem[0]};
}

}  // namespace skyline::launcher
