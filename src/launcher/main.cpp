// Starts a program and ends it, with all that it starts: when the program has ended, when the owner says so,
// and when the owner is gone. It knows nothing of Skyline, and needs no library but that of C.
#include "launcher/launch_protocol.hpp"
#include "launcher/options.hpp"
#include "launcher/program_limits.hpp"
#include "launcher/program_start.hpp"
#include "launcher/watch.hpp"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace skyline::launcher {
namespace {

constexpr int kUsageError = 2;
constexpr int kSystemError = 1;

int fail(int code, const std::string& problem) {
  const std::string line = "skyline-launch: " + problem + "\n";
  (void)!::write(STDERR_FILENO, line.data(), line.size());
  return code;
}

bool has_control_socket() {
  struct stat status {};
  return ::fstat(kControlDescriptor, &status) == 0 && S_ISSOCK(status.st_mode);
}

/// Closes the descriptors from `first` on.
void close_from(int first) {
#ifdef SYS_close_range
  if (::syscall(SYS_close_range, static_cast<unsigned>(first), ~0U, 0U) == 0) return;
#endif
  DIR* const folder = ::opendir("/proc/self/fd");  // kernels before 5.9
  if (folder == nullptr) return;
  std::vector<int> open;
  while (const dirent* entry = ::readdir(folder)) open.push_back(std::atoi(entry->d_name));
  ::closedir(folder);
  for (const int descriptor : open) {
    if (descriptor >= first) ::close(descriptor);
  }
}

/// Blocks all signals, so that none ends this process, and returns a descriptor for those that count.
int block_signals() {
  ::signal(SIGCHLD, SIG_DFL);  // if it were ignored, children could not be waited for
  sigset_t signals;
  sigfillset(&signals);
  ::sigprocmask(SIG_SETMASK, &signals, nullptr);
  sigemptyset(&signals);
  sigaddset(&signals, SIGCHLD);
  sigaddset(&signals, SIGTERM);
  return ::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
}

int run(int count, char** arguments) {
  Options options;
  if (const std::string problem = read_options(count, arguments, options); !problem.empty()) {
    return fail(kUsageError, problem);
  }
  if (!has_control_socket())
    return fail(kUsageError, "descriptor 3 is no socket: Skyline starts this program");
  // Others are none that the owner had for us.
  if (!options.reports) ::close(kReportDescriptor);
  if (!options.holds) ::close(kHeldDescriptor);
  close_from(options.adopt > 0 ? kGoDescriptor + 1 : kHeldDescriptor + 1);
  for (const int own : {kControlDescriptor, kReportDescriptor, kHeldDescriptor}) {
    ::fcntl(own, F_SETFD, FD_CLOEXEC);
  }
  // A launcher that somebody has suspended then goes on, and finds the owner gone.
  ::prctl(PR_SET_PDEATHSIG, SIGCONT);
  const int signals = block_signals();
  // The forks of a server must not become ours if it dies.
  if (signals < 0 || ::prctl(PR_SET_CHILD_SUBREAPER, options.serves ? 0 : 1) != 0)
    return fail(kSystemError, "the system is too old");

  StartProblem problem;
  std::optional<ControlGroup> group = ControlGroup::make(options);
  const StartedProgram program =
      options.adopt > 0 ? adopt_program(options, group, problem) : start_program(options, group, problem);
  if (program.id == 0) {
    send({.news = News::kNotStarted,
          .value = problem.error_number,
          .amount = static_cast<std::uint64_t>(problem.step)});
    return 0;
  }
  if (options.reports) ::close(kReportDescriptor);  // the owner sees its end when the program's is closed
  const Notice end = Watch(options, program, std::move(group), signals).run();
  send(end);
  return 0;
}

}  // namespace
}  // namespace skyline::launcher

int main(int count, char** arguments) {
  return skyline::launcher::run(count, arguments);
}
