#include "launcher/adopted_program.hpp"

#include "launcher/launch_protocol.hpp"
#include "launcher/program_limits.hpp"

#include <cerrno>

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

namespace skyline::launcher {
namespace {

StartedProgram refuse(pid_t child, Step step, StartProblem& failed) {
  failed = {step, errno};
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  return {};
}

}  // namespace

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
