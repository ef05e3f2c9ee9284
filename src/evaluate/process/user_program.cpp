#include "evaluate/process/user_program.hpp"

#include "skyline/core/error.hpp"

#include "core/backoff.hpp"
#include "core/log.hpp"
#include "core/system/process.hpp"
#include "core/system/process_tree.hpp"
#include "core/text/hash.hpp"
#include "core/text/wording.hpp"
#include "evaluate/process/reported_lines.hpp"
#include "store/publish/retry_policy.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string_view>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace skyline::evaluate {
namespace {

using launcher::News;
using launcher::Notice;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr std::chrono::seconds kPatience{10};       // with a launcher that is to kill
constexpr milliseconds kLookPeriod{20};             // between two looks of watch()
constexpr std::chrono::seconds kOrphanPatience{5};  // with what a launcher has left
constexpr milliseconds kOrphanPeriod{5};
constexpr std::size_t kPieceBytes = std::size_t{1} << 16;
constexpr int kPiecesAtOnce = 8;

bool has_in_environment(pid_t process, const std::string& variable) {
  std::ifstream file("/proc/" + std::to_string(process) + "/environ", std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  return text.find(variable) != std::string::npos;
}

std::string amount_text(std::uint64_t bytes) {
  return std::to_string((bytes + 999'999) / 1'000'000) + " MB";
}

std::string not_started_text(const Notice& notice, const ProcessPlan& plan) {
  const std::string reason = ": " + system_error_text(notice.value);
  switch (static_cast<launcher::Step>(notice.amount)) {
    case launcher::Step::kFolder:
      return "cannot change to the folder " + plan.folder.string() + reason;
    case launcher::Step::kProcessors:
      return "cannot bind it to its processors" + reason;
    case launcher::Step::kProgram:
      return "cannot start " + plan.arguments.front() + reason;
    case launcher::Step::kLaunch:
      break;
  }
  return "cannot start a process" + reason;
}

ProcessEnd end_of(const Notice& notice, const ProcessPlan& plan) {
  using Kind = ProcessEnd::Kind;
  switch (notice.news) {
    case News::kExited:
      return {Kind::kExited, notice.value, "exit code " + std::to_string(notice.value)};
    case News::kSignaled: {
      const char* const name = ::sigabbrev_np(notice.value);
      const std::string code = notice.amount > 0 ? " (exit code " + std::to_string(notice.amount) + ")" : "";
      return {
          Kind::kSignaled, notice.value,
          "signal " + (name == nullptr ? std::to_string(notice.value) : "SIG" + std::string(name)) + code};
    }
    case News::kOutOfMemory: {
      if (notice.amount == 0) return {Kind::kOutOfMemory, 0, "the system ended it for lack of memory"};
      const std::string limit = amount_text(plan.limits.memory_bytes.value_or(0));
      if (notice.amount == plan.limits.memory_bytes) {
        return {Kind::kOutOfMemory, 0, "it needed more memory than its limit, " + limit};
      }
      return {Kind::kOutOfMemory, 0,
              "it had " + amount_text(notice.amount) + " of memory, its limit is " + limit};
    }
    case News::kManyProcesses: {
      const std::string limit = std::to_string(plan.limits.processes.value_or(0));
      if (notice.amount == plan.limits.processes) {
        return {Kind::kManyProcesses, 0, "it needed more processes and threads than its limit, " + limit};
      }
      return {Kind::kManyProcesses, 0,
              "it had " + std::to_string(notice.amount) + " processes and threads, its limit is " + limit};
    }
    case News::kNotStarted:
      return {Kind::kNotStarted, notice.value, not_started_text(notice, plan)};
    case News::kStarted:
      break;
  }
  throw InternalError("the launcher of a program sent an unknown notice");
}

}  // namespace

bool ProcessEnd::is_own() const {
  return kind == Kind::kExited || (kind == Kind::kSignaled && value == SIGABRT);
}

trial::Failure failure_of(const ProcessEnd& end) {
  using Kind = ProcessEnd::Kind;
  switch (end.kind) {
    case Kind::kExited:
    case Kind::kManyProcesses:
    case Kind::kTimedOut:
      return {trial::FailureKind::kProgram, end.reason};
    case Kind::kOutOfMemory:
      return {trial::FailureKind::kOutOfMemory, end.reason};
    case Kind::kSignaled:
    case Kind::kNotStarted:
    case Kind::kLost:
      break;
  }
  return {trial::FailureKind::kException, end.reason};
}

UserProgram::UserProgram(const ProcessPlan& plan, const LauncherStart& start)
    : plan_(plan), mark_(std::string(kMarkVariable) + to_hex(random_token())) {
  StartedLauncher started = start(plan_, mark_);
  launcher_ = started.id;
  control_ = std::move(started.ends.control);
  report_ = std::move(started.ends.report);
  report_file_ = std::move(started.ends.report_file);
}

UserProgram::~UserProgram() {
  try {
    kill();
    // Nobody collects any more. A server whose socket ends would end by itself, with its exit handlers.
    const FileDescriptor channel = std::move(report_);
    while (!poll()) wait(milliseconds(100));
    const bool ends_now = end_->kind != ProcessEnd::Kind::kLost;  // it has sent its last notice
    if (launcher_ != 0 && ends_now) ::waitpid(launcher_, nullptr, 0);
  } catch (const std::exception& error) {
    log::write(log::Level::kError, error.what());
  }
}

std::optional<ProcessEnd> UserProgram::poll() {
  if (!end_) read_launcher();
  if (!end_ && steady_clock::now() > gone_by_) lose("its launcher hangs");
  if (end_) reap();
  return end_;
}

/// Reads notices. A socket that ends before the last of them means that the launcher has failed.
void UserProgram::read_launcher() {
  std::array<char, 4 * sizeof(Notice)> bytes{};
  const ssize_t read = ::recv(control_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
  if (read < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (read <= 0) return lose("its launcher failed");
  received_.append(bytes.data(), static_cast<std::size_t>(read));
  while (received_.size() >= sizeof(Notice)) {
    Notice notice;
    std::memcpy(&notice, received_.data(), sizeof notice);
    received_.erase(0, sizeof notice);
    if (notice.mark != launcher::kNoticeMark) return lose("its launcher is of another version");
    if (notice.news == News::kStarted) {
      program_ = notice.value;
    } else {
      end_ = end_of(notice, plan_);
      end_->log_error = static_cast<int>(notice.log_error);
      end_->process = program_;
      if (plan_.serves) (void)end_orphans();  // its launcher adopts nothing
    }
  }
}

void UserProgram::wait(milliseconds most, int waker, bool may_send) const {
  if (end_) return;
  const auto of_report = static_cast<short>(may_send ? POLLIN | POLLOUT : POLLIN);
  std::array<pollfd, 3> sources{pollfd{control_.get(), POLLIN, 0}, pollfd{report_.get(), of_report, 0},
                                pollfd{waker, POLLIN, 0}};
  ::poll(sources.data(), sources.size(), static_cast<int>(most.count()));  // a descriptor of -1 is left out
}

ProcessEnd UserProgram::watch(ReportedLines* reader, const std::function<bool()>& must_end) {
  bool was_told = false;
  bool is_late = false;
  while (true) {
    const std::optional<ProcessEnd> end = poll();
    if (reader != nullptr) collect(*reader);
    if (end && !is_late) return *end;
    if (end) {
      return {
          .kind = ProcessEnd::Kind::kTimedOut,
          .reason = "took longer than " + plan_.timeout_name + " (" + seconds_text(*plan_.timeout_s) + ")",
          .process = program_};
    }
    const bool ends = must_end();
    if (!was_told) {
      is_late = !ends && plan_.timeout_s && seconds_since(started_) > *plan_.timeout_s;
      was_told = ends || is_late;
      if (was_told) stop();
    }
    wait(kLookPeriod);
  }
}

std::size_t UserProgram::send(std::string_view bytes) {
  std::size_t sent = 0;
  while (report_ && sent < bytes.size()) {
    const ssize_t count = ::send(report_.get(), bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (count >= 0) {
      sent += static_cast<std::size_t>(count);
    } else if (errno == EAGAIN) {
      break;
    } else if (errno != EINTR) {
      report_.reset();
    }
  }
  return sent;
}

void UserProgram::end_sending() {
  ::shutdown(report_.get(), SHUT_WR);
}

void UserProgram::stop() {
  command(launcher::Command::kStop,
          std::chrono::duration_cast<steady_clock::duration>(std::chrono::duration<double>(plan_.grace_s)));
}

void UserProgram::kill() {
  command(launcher::Command::kKill, {});
}

/// @param grace  time that the launcher may take beside its own
void UserProgram::command(launcher::Command command, steady_clock::duration grace) {
  if (end_) return;
  ::send(control_.get(), &command, sizeof command, MSG_NOSIGNAL | MSG_DONTWAIT);
  gone_by_ = std::min(gone_by_, steady_clock::now() + grace + kPatience);
}

/// Waits for the launcher if it has ended. Some MPI libraries wait for every child and may have done so, and
/// a launcher that a server has forked is the server's child.
void UserProgram::reap() {
  if (launcher_ == 0) return;
  const pid_t ended = ::waitpid(launcher_, nullptr, WNOHANG);
  if (ended > 0 || (ended < 0 && !process_exists(launcher_))) launcher_ = 0;
}

/// Does without the launcher: ends it and all that it has left. A process that has left both the session and
/// the environment of the program is not found.
void UserProgram::lose(const std::string& reason) {
  // The number of a launcher that a server has waited for may be another process's.
  if (launcher_ != 0 && has_in_environment(launcher_, mark_)) ::kill(launcher_, SIGKILL);
  const std::vector<ListedProcess> left = end_orphans();
  end_ = ProcessEnd{ProcessEnd::Kind::kLost, 0, reason};
  if (left.empty()) return;
  end_->reason += ", and " + counted(left.size(), "process") + " cannot be ended";
  log::write(log::Level::kWarning, plan_.arguments.front() + ": " + end_->reason + ": first of them " +
                                       std::to_string(left.front().id));
}

/// Ends what was left, and waits until it and the launcher are gone, at most some seconds. Returns what is
/// still there.
std::vector<ListedProcess> UserProgram::end_orphans() {
  const auto until = steady_clock::now() + kOrphanPatience;
  std::vector<ListedProcess> left;
  while (true) {
    reap();  // once it was waited for, its children are ours
    left = orphans();
    if ((launcher_ == 0 && left.empty()) || steady_clock::now() > until) break;
    kill_processes(left);
    for (const ListedProcess& process : left) ::waitpid(process.id, nullptr, WNOHANG);
    std::this_thread::sleep_for(kOrphanPeriod);
  }
  return left;
}

std::vector<ListedProcess> UserProgram::orphans() const {
  const std::vector<ListedProcess> all = list_processes();
  std::vector<ListedProcess> found;
  for (const ListedProcess& process : all) {
    if (process.parent != ::getpid()) continue;
    const bool is_of_program = program_ != 0 && process.session == program_;
    if (is_of_program || has_in_environment(process.id, mark_)) found.push_back(process);
  }
  std::vector<pid_t> roots;
  std::ranges::transform(found, std::back_inserter(roots), &ListedProcess::id);
  std::vector<ListedProcess> below = descendants_of(roots, all);
  if (plan_.serves) {
    std::erase_if(below, [this](const ListedProcess& process) { return process.session != program_; });
  }
  found.insert(found.end(), below.begin(), below.end());
  return found;
}

void UserProgram::collect(ReportedLines& reader) {
  std::string piece(kPieceBytes, '\0');
  for (int i = 0; report_ && (i < kPiecesAtOnce || end_); ++i) {
    const ssize_t read = ::read(report_.get(), piece.data(), piece.size());
    if (read > 0) {
      reader.feed(std::string_view(piece).substr(0, static_cast<std::size_t>(read)),
                  ReportChannel::kDescriptor);
    } else if (read == 0 || errno != EINTR) {
      if (read == 0 || end_) report_.reset();
      break;
    }
  }
  if (!report_file_) return;
  const store::IoOperation operation("read", plan_.report_file);
  if (end_) reopen_report(reader);
  for (int i = 0; !reader.mistake() && (i < kPiecesAtOnce || end_); ++i) {
    const ssize_t read =
        ::pread(report_file_.get(), piece.data(), piece.size(), static_cast<off_t>(report_read_));
    if (read <= 0) break;
    report_read_ += static_cast<std::uint64_t>(read);
    reader.feed(std::string_view(piece).substr(0, static_cast<std::size_t>(read)), ReportChannel::kFile);
  }
  if (end_) report_file_.reset();
}

/// Takes the file that has the name now, if the program has written another one and renamed it.
void UserProgram::reopen_report(ReportedLines& reader) {
  const auto refuse = [&](const std::string& found) {
    reader.refuse("its report file " + plan_.report_file.string() + " was replaced by " + found);
  };
  FileDescriptor file = open_file(plan_.report_file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  if (!file) {
    if (errno == ENOENT) return;  // removed; what was written is still there
    return refuse(errno == ELOOP ? "a symbolic link" : system_error_text(errno));
  }
  struct stat first {};
  struct stat now {};
  ::fstat(report_file_.get(), &first);
  ::fstat(file.get(), &now);
  if (first.st_ino == now.st_ino && first.st_dev == now.st_dev) return;
  if (!S_ISREG(now.st_mode)) return refuse("something else than a file");
  if (now.st_uid != ::geteuid()) return refuse("a file of another user");
  if (report_read_ > 0) return refuse("another file after a part of it was read");
  report_file_ = std::move(file);
}

}  // namespace skyline::evaluate
