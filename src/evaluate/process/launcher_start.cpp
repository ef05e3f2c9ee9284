#include "evaluate/process/launcher_start.hpp"

#include "skyline/core/error.hpp"

#include "core/system/may_block.hpp"
#include "core/system/program_files.hpp"
#include "core/text/wording.hpp"
#include "launcher/launch_protocol.hpp"
#include "store/publish/publish.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <utility>

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

namespace skyline::evaluate {
namespace {

constexpr const char* kLauncher = "skyline-launch";
constexpr const char* kLauncherVariable = "SKYLINE_TRAINER_LAUNCHER";
constexpr std::string_view kReportVariable = "SKYLINE_REPORT_FD=";
constexpr std::string_view kReportFileVariable = "SKYLINE_REPORT_FILE=";
constexpr std::array kOwnVariables{kMarkVariable, kReportVariable, kReportFileVariable};

[[noreturn]] void fail_start(const std::string& task, int error_number) {
  throw FaultError("cannot " + task + ": " + system_error_text(error_number));
}

/// The launcher gets the descriptors 0 to 5 in turn; none of ours may have one of these numbers meanwhile.
FileDescriptor above_those_of_launcher(int descriptor, const char* task) {
  const FileDescriptor original(descriptor);
  FileDescriptor moved(::fcntl(descriptor, F_DUPFD_CLOEXEC, launcher::kHeldDescriptor + 1));
  if (!moved) fail_start(task, errno);
  return moved;
}

struct BothEnds {
  FileDescriptor ours;
  FileDescriptor launchers;
};

BothEnds make_socket(int type) {
  constexpr const char* kTask = "make a socket for a program";
  int both[2];
  if (::socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, both) != 0) fail_start(kTask, errno);
  FileDescriptor ours(both[0]);
  ::fcntl(ours.get(), F_SETFL, O_NONBLOCK);  // the other end has a file description of its own, and blocks
  return {std::move(ours), above_those_of_launcher(both[1], kTask)};
}

BothEnds make_report_pipe() {
  constexpr const char* kTask = "make a pipe for the reports of a program";
  int both[2];
  if (::pipe2(both, O_CLOEXEC) != 0) fail_start(kTask, errno);
  FileDescriptor ours(both[0]);
  ::fcntl(ours.get(), F_SETFL, O_NONBLOCK);
  return {std::move(ours), above_those_of_launcher(both[1], kTask)};
}

class FileActions {
 public:
  FileActions() { ::posix_spawn_file_actions_init(&actions_); }
  ~FileActions() { ::posix_spawn_file_actions_destroy(&actions_); }
  FileActions(const FileActions&) = delete;
  FileActions& operator=(const FileActions&) = delete;
  void duplicate(const FileDescriptor& from, int to) {
    ::posix_spawn_file_actions_adddup2(&actions_, from.get(), to);
  }
  void open_null(int descriptor) {
    ::posix_spawn_file_actions_addopen(&actions_, descriptor, "/dev/null", O_RDONLY, 0);
  }
  const posix_spawn_file_actions_t* get() const { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_{};
};

/// A session of its own, so that what ends our process group does not end the launcher before its work. All
/// signals are blocked until it has taken them over.
class SpawnAttributes {
 public:
  SpawnAttributes() {
    ::posix_spawnattr_init(&attributes_);
    ::posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK);
    sigset_t all;
    sigfillset(&all);
    ::posix_spawnattr_setsigmask(&attributes_, &all);
  }
  ~SpawnAttributes() { ::posix_spawnattr_destroy(&attributes_); }
  SpawnAttributes(const SpawnAttributes&) = delete;
  SpawnAttributes& operator=(const SpawnAttributes&) = delete;
  const posix_spawnattr_t* get() const { return &attributes_; }

 private:
  posix_spawnattr_t attributes_{};
};

std::vector<std::string> launcher_arguments(const std::string& program, const ProcessPlan& plan) {
  std::vector<std::string> arguments{
      program,
      "grace_ms=" + std::to_string(std::llround(1000 * std::max(0.0, plan.grace_s))),
      "log_limit=" + std::to_string(plan.log_limit),
      "memory=" + std::to_string(plan.limits.memory_bytes.value_or(0)),
      "processes=" + std::to_string(plan.limits.processes.value_or(0)),
      "open_files=" + std::to_string(plan.limits.open_files.value_or(0)),
      std::string("reports=") + (plan.report_file.empty() && plan.socket_type == 0 ? "0" : "1"),
      std::string("serves=") + (plan.serves ? "1" : "0"),
      std::string("holds=") + (plan.held < 0 ? "0" : "1")};
  if (!plan.folder.empty()) arguments.push_back("folder=" + plan.folder.string());
  if (!plan.processors.empty()) {
    std::vector<std::string> numbers;
    for (const int processor : plan.processors) numbers.push_back(std::to_string(processor));
    arguments.push_back("processors=" + joined(numbers, ","));
  }
  arguments.emplace_back("--");
  arguments.insert(arguments.end(), plan.arguments.begin(), plan.arguments.end());
  return arguments;
}

std::vector<std::string> environment_of(const ProcessPlan& plan, const std::string& mark) {
  std::vector<std::string> environment{mark};
  if (!plan.report_file.empty()) {
    environment.push_back(std::string(kReportVariable) + std::to_string(launcher::kProgramReportDescriptor));
    environment.push_back(std::string(kReportFileVariable) + plan.report_file.string());
  }
  for (const auto& [name, value] : plan.variables) {
    const std::string variable = name + "=" + value;
    const auto is_this = [&](std::string_view own) { return variable.starts_with(own); };
    if (std::ranges::none_of(kOwnVariables, is_this)) environment.push_back(variable);
  }
  return environment;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> found;
  for (std::string& text : texts) found.push_back(text.data());
  found.push_back(nullptr);
  return found;
}

}  // namespace

std::filesystem::path find_launcher() {
  std::string reason;
  if (const auto file = find_program_file(kLauncher, kLauncherVariable, reason)) return *file;
  throw UserError("programs cannot be started: " + reason + " (install Skyline whole, or name the file in " +
                  kLauncherVariable + ")");
}

LauncherPlan plan_launcher(const ProcessPlan& plan, const std::string& mark) {
  may_block("start a process");
  require(!plan.arguments.empty() && plan.arguments.front().find('/') != std::string::npos,
          "a program without a path");
  LauncherPlan planned;
  planned.log = above_those_of_launcher(store::open_own(plan.log, O_RDWR | O_CREAT | O_TRUNC, 0666).release(),
                                        "open the log of a program");
  BothEnds control = make_socket(SOCK_STREAM);
  planned.ours.control = std::move(control.ours);
  planned.control = std::move(control.launchers);
  if (!plan.report_file.empty()) {
    planned.ours.report_file = store::open_own(plan.report_file, O_RDONLY | O_CREAT | O_EXCL, 0666);
  }
  if (!plan.report_file.empty() || plan.socket_type != 0) {
    BothEnds report = plan.socket_type != 0 ? make_socket(plan.socket_type) : make_report_pipe();
    planned.ours.report = std::move(report.ours);
    planned.report = std::move(report.launchers);
  }
  if (plan.held >= 0) {
    planned.held =
        above_those_of_launcher(::fcntl(plan.held, F_DUPFD_CLOEXEC, 0), "hold a turn for a program");
  }
  // What a launcher leaves that was killed becomes ours, and not that of the system's first process.
  if (::prctl(PR_SET_CHILD_SUBREAPER, 1) != 0) fail_start("adopt the orphans of programs", errno);
  planned.arguments = launcher_arguments(find_launcher().string(), plan);
  planned.environment = environment_of(plan, mark);
  return planned;
}

StartedLauncher start_launcher(const ProcessPlan& plan, const std::string& mark) {
  LauncherPlan planned = plan_launcher(plan, mark);
  FileActions actions;
  actions.open_null(STDIN_FILENO);
  actions.duplicate(planned.log, STDOUT_FILENO);
  actions.duplicate(planned.log, STDERR_FILENO);
  actions.duplicate(planned.control, launcher::kControlDescriptor);
  if (planned.report) actions.duplicate(planned.report, launcher::kReportDescriptor);
  if (planned.held) actions.duplicate(planned.held, launcher::kHeldDescriptor);
  const SpawnAttributes attributes;
  pid_t id = 0;
  const int error = ::posix_spawn(&id, planned.arguments.front().c_str(), actions.get(), attributes.get(),
                                  pointers(planned.arguments).data(), pointers(planned.environment).data());
  if (error == E2BIG) {
    throw UserError("cannot start " + plan.arguments.front() + ": its arguments and variables are too long");
  }
  if (error != 0) fail_start("start " + planned.arguments.front(), error);
  return {std::move(planned.ours), id};
}

}  // namespace skyline::evaluate
