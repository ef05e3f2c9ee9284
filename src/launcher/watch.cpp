#include "launcher/watch.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace skyline::launcher {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kCheckPeriod{1000};
constexpr milliseconds kQuickCheckPeriod{50};  // period for a tree with a limit of processes
constexpr milliseconds kWritePeriod{1000};
constexpr milliseconds kKillPeriod{5};

/// Returns the signal that ended what a program had started, if its exit code says so, else 0. A shell and a
/// container end with 128 + signal, a program in Python that hands on the code of its child with 256 -
/// signal.
int signal_in(int exit_code) {
  constexpr std::array kEnding{SIGHUP,  SIGINT,  SIGQUIT, SIGILL,  SIGTRAP, SIGABRT,
                               SIGBUS,  SIGFPE,  SIGKILL, SIGUSR1, SIGSEGV, SIGUSR2,
                               SIGPIPE, SIGALRM, SIGTERM, SIGXCPU, SIGXFSZ, SIGSYS};
  constexpr std::array kCommon{SIGABRT, SIGBUS, SIGKILL, SIGSEGV,
                               SIGTERM};  // other such codes mean something else
  if (std::ranges::find(kEnding, exit_code - 128) != kEnding.end()) return exit_code - 128;
  return std::ranges::find(kCommon, 256 - exit_code) != kCommon.end() ? 256 - exit_code : 0;
}

}  // namespace

void send(const Notice& notice) {
  ::send(kControlDescriptor, &notice, sizeof notice, MSG_NOSIGNAL);
}

Watch::Watch(const Options& options, const StartedProgram& program, std::optional<ControlGroup> group,
             int signals)
    : program_(program),
      signals_(signals),
      grace_ms_(options.grace_ms),
      serves_(options.serves),
      log_(STDOUT_FILENO, options.log_limit),
      group_(std::move(group)),
      limits_(group_ ? 0 : options.memory, group_ ? 0 : options.processes),
      earlier_kills_(out_of_memory_kills()),
      check_at_(Clock::now() + kCheckPeriod),
      write_at_(Clock::now()) {}

Notice Watch::run() {
  do {
    wait();
    read_start();
    read_output();
    read_commands();
    read_signals();
    if (has_limits() && !kills_) check_limits();
    if (kill_at_ && Clock::now() >= *kill_at_) kill();
    if (log_.has_new_end() && Clock::now() >= write_at_) {
      log_.write_end();
      write_at_ = Clock::now() + kWritePeriod;
    }
    const bool all_gone = reap();
    if (all_gone) break;
    if (kills_) kill_processes(tree());
  } while (true);
  read_start();
  read_output();
  if (log_.has_new_end()) log_.write_end();
  end_->log_error = static_cast<std::uint32_t>(log_.error());
  return *end_;
}

int Watch::next_wait_ms() const {
  if (kills_) return static_cast<int>(kKillPeriod.count());
  constexpr milliseconds kForever{-1};
  milliseconds next = milliseconds::max();
  const auto until = [&](Clock::time_point time) {
    next = std::min(next, std::max(milliseconds(0), std::chrono::ceil<milliseconds>(time - Clock::now())));
  };
  if (has_limits()) until(check_at_);
  if (limits_.counts_processes()) next = std::min(next, kQuickCheckPeriod);
  if (kill_at_) until(*kill_at_);
  if (log_.has_new_end()) until(write_at_);
  return static_cast<int>((next == milliseconds::max() ? kForever : std::min(next, kCheckPeriod)).count());
}

void Watch::wait() {
  std::array<pollfd, 4> sources{pollfd{control_, POLLIN, 0}, pollfd{signals_, POLLIN, 0},
                                pollfd{program_.output, POLLIN, 0}, pollfd{program_.problem, POLLIN, 0}};
  ::poll(sources.data(), sources.size(), next_wait_ms());  // a descriptor of -1 is left out
}

/// Learns whether the program runs: its end of the pipe closes when it does.
void Watch::read_start() {
  if (program_.problem < 0) return;
  StartProblem problem;
  const ssize_t read = ::read(program_.problem, &problem, sizeof problem);
  if (read < 0) return;  // not yet
  ::close(program_.problem);
  program_.problem = -1;
  if (read == sizeof problem) {
    end_ = Notice{.news = News::kNotStarted,
                  .value = problem.error_number,
                  .amount = static_cast<std::uint64_t>(problem.step)};
  } else {
    send({.news = News::kStarted, .value = program_.id});
  }
}

void Watch::read_output() {
  std::array<char, std::size_t{1} << 16> text;
  // At most some pieces at a time: a flood must not keep the launcher from its other duties.
  constexpr int kMostPieces = 16;
  for (int i = 0; i < kMostPieces && program_.output >= 0; ++i) {
    const ssize_t read = ::read(program_.output, text.data(), text.size());
    if (read > 0) {
      log_.add({text.data(), static_cast<std::size_t>(read)});
    } else if (read == 0) {
      ::close(program_.output);
      program_.output = -1;
    } else if (errno != EINTR) {
      return;
    }
  }
}

void Watch::read_commands() {
  std::array<char, 16> commands{};
  if (control_ < 0) return;
  const ssize_t read = ::recv(control_, commands.data(), commands.size(), MSG_DONTWAIT);
  if (read < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (read <= 0) {  // the owner is gone
    control_ = -1;
    asked_ = true;
    kill();
  }
  for (ssize_t i = 0; i < read; ++i) {
    const auto command = static_cast<Command>(commands[static_cast<std::size_t>(i)]);
    if (command == Command::kStop) stop();
    if (command == Command::kKill) {
      asked_ = true;
      kill();
    }
  }
}

void Watch::read_signals() {
  signalfd_siginfo signal{};
  while (::read(signals_, &signal, sizeof signal) == sizeof signal) {
    if (signal.ssi_signo == SIGTERM) stop();
  }
}

/// Returns the processes that belong to the program.
std::vector<ListedProcess> Watch::tree() const {
  const std::array own{::getpid()};
  std::vector<ListedProcess> found = descendants_of(own, list_processes());
  if (serves_) {
    std::erase_if(found, [this](const ListedProcess& process) { return process.session != program_.id; });
  }
  return found;
}

void Watch::stop() {
  if (kill_at_ || kills_) return;
  asked_ = true;
  kill_at_ = Clock::now() + milliseconds(grace_ms_);
  for (const ListedProcess& process : tree()) ::kill(process.id, SIGTERM);
}

void Watch::check_limits() {
  if (Clock::now() < check_at_ && !limits_.should_check()) return;
  check_at_ = Clock::now() + kCheckPeriod;
  const std::optional<Notice> excess = group_ ? group_->excess() : limits_.check(tree());
  if (!excess) return;
  if (!end_) end_ = excess;
  kill();
}

/// Waits for all that have ended. Returns whether there are no children any more, and so no descendants.
bool Watch::reap() {
  while (true) {
    int status = 0;
    const pid_t ended = ::waitpid(-1, &status, WNOHANG | __WALL);
    if (ended == 0) return false;
    if (ended < 0 && errno == EINTR) continue;
    if (ended < 0) return true;
    if (ended != program_.id) continue;
    read_start();  // a program that was never started ends, too
    if (!end_ && group_) end_ = group_->excess();
    if (!end_) end_ = end_of(status);
    kill();
  }
}

Notice Watch::end_of(int status) const {
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
  const int signal = WIFEXITED(status) ? signal_in(code) : WTERMSIG(status);
  if (signal == 0) return {.news = News::kExited, .value = code};
  const bool by_kernel = !group_ && signal == SIGKILL && !asked_ && out_of_memory_kills() > earlier_kills_;
  if (by_kernel) return {.news = News::kOutOfMemory, .value = signal};
  return {.news = News::kSignaled, .value = signal, .amount = static_cast<std::uint64_t>(code)};
}

}  // namespace skyline::launcher
