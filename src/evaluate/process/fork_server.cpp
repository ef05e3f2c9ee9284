#include "evaluate/process/fork_server.hpp"

#include "skyline/core/error.hpp"

#include "core/backoff.hpp"
#include "core/log.hpp"
#include "core/system/process.hpp"
#include "core/text/foreign_text.hpp"
#include "core/text/wording.hpp"
#include "evaluate/process/error_words.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

namespace skyline::evaluate {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr std::string_view kReady = "ready ";
constexpr std::string_view kProtocol = "1";  // python/skyline/fork_server.py
constexpr std::string_view kRefused = "refused ";
constexpr std::string_view kLauncherStarted = "launcher ";
constexpr std::string_view kForkProblem = "problem ";
constexpr std::size_t kMostAnswerBytes = 4096;
constexpr milliseconds kAnswerPatience{60'000};
constexpr milliseconds kImportPoll{50};
constexpr int kMostDeaths = 3;
constexpr milliseconds kFirstPause{500};  // between imports that fail
constexpr milliseconds kLongestPause{10'000};
constexpr std::size_t kMostEnds = 5;

/// A descriptor that goes to the server, with its name in the request.
struct End {
  std::string_view name;
  int descriptor;
};

/// Returns the arguments and the environment of a launcher as a file: their number, then texts that end with
/// 0.
FileDescriptor request_of(const LauncherPlan& planned) {
  std::string text = std::to_string(planned.arguments.size()) + '\0';
  for (const auto* const texts : {&planned.arguments, &planned.environment}) {
    for (const std::string& each : *texts) (text += each) += '\0';
  }
  FileDescriptor file(::memfd_create("skyline-request", MFD_CLOEXEC));
  std::string_view rest = text;
  while (file && !rest.empty()) {
    const ssize_t written = ::write(file.get(), rest.data(), rest.size());
    if (written <= 0) file.reset();
    rest.remove_prefix(static_cast<std::size_t>(std::max<ssize_t>(0, written)));
  }
  if (!file) throw FaultError("cannot keep a request in memory: " + system_error_text(errno));
  return file;
}

/// Sends the names of descriptors, and these. Returns false if nobody is there.
bool send_ends(int channel, const std::vector<End>& ends) {
  std::string names;
  std::array<int, kMostEnds> descriptors{};
  for (std::size_t i = 0; i < ends.size(); ++i) {
    (names += i == 0 ? "" : " ") += ends[i].name;
    descriptors.at(i) = ends[i].descriptor;
  }
  const std::size_t bytes = ends.size() * sizeof(int);
  alignas(cmsghdr) std::array<char, CMSG_SPACE(kMostEnds * sizeof(int))> control{};
  iovec text{names.data(), names.size()};
  msghdr message{};
  message.msg_iov = &text;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = CMSG_SPACE(bytes);
  cmsghdr* const header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(bytes);
  std::memcpy(CMSG_DATA(header), descriptors.data(), bytes);
  return ::sendmsg(channel, &message, MSG_NOSIGNAL) >= 0;
}

/// Returns the next answer, empty if the server is gone; no value if there is none after this time.
std::optional<std::string> receive(int channel, milliseconds most) {
  const auto until = steady_clock::now() + most;
  pollfd source{channel, POLLIN, 0};
  while (true) {
    const auto left = std::chrono::ceil<milliseconds>(until - steady_clock::now());
    const int ready = ::poll(&source, 1, static_cast<int>(std::max<std::int64_t>(0, left.count())));
    if (ready > 0) break;
    if (ready == 0 || errno != EINTR) return std::nullopt;
  }
  std::string answer(kMostAnswerBytes, '\0');
  const ssize_t read = ::recv(channel, answer.data(), answer.size(), MSG_DONTWAIT);
  answer.resize(static_cast<std::size_t>(std::max<ssize_t>(0, read)));
  return answer;
}

}  // namespace

ForkServer::ForkServer(ProcessPlan plan, std::string name, const Limits& limits)
    : plan_(std::move(plan)), name_(std::move(name)), limits_(limits) {
  plan_.socket_type = SOCK_SEQPACKET;
  plan_.serves = true;
}

void ForkServer::start(const Stop& stop_requested) {
  const std::lock_guard lock(mutex_);
  import(stop_requested);
}

/// Starts a server and waits until it can fork; there is none if a stop is asked for meanwhile. @throws
/// UserError
void ForkServer::import(const Stop& stop_requested) {
  auto process = std::make_unique<UserProgram>(plan_);
  trials_ = 0;
  const auto begin = steady_clock::now();
  std::optional<std::string> answer;
  while (!(answer = receive(process->channel(), kImportPoll))) {
    if (stop_requested && stop_requested()) return;
    if (limits_.import_s && seconds_since(begin) > *limits_.import_s) {
      throw UserError("command.python: importing " + name_ + " took longer than command.prepare_timeout (" +
                      seconds_text(*limits_.import_s) + ") on " + host_name() + ", see " +
                      plan_.log.string());
    }
  }
  if (answer->starts_with(kRefused)) {
    throw UserError("command.python: " + printable(answer->substr(kRefused.size())));
  }
  if (!answer->starts_with(kReady)) {
    process.reset();  // the log is complete then
    throw UserError("command.python: " + import_problem());
  }
  if (answer->substr(kReady.size()) != kProtocol) {
    throw UserError("command.python: the package `skyline` of " + plan_.arguments.front() +
                    " is of another version than this program");
  }
  process_ = std::move(process);
}

std::string ForkServer::import_problem() const {
  return "importing " + name_ + " failed on " + host_name() + ", see " + plan_.log.string() +
         said_in(plan_.log, {});
}

StartedLauncher ForkServer::fork(const ProcessPlan& plan, const std::string& mark,
                                 const Stop& stop_requested) {
  LauncherPlan planned = plan_launcher(plan, mark);
  const std::lock_guard lock(mutex_);
  if (limits_.trials && trials_ >= *limits_.trials) process_.reset();
  if (process_ != nullptr && process_->poll()) note_death("died");
  while (true) {
    if (process_ == nullptr) replace_dead(stop_requested);
    if (process_ == nullptr) return {std::move(planned.ours), 0};
    if (send(planned)) break;
    note_death("died");  // before it knew of this trial, which a new one can fork
  }
  const std::optional<std::string> answer = receive(process_->channel(), kAnswerPatience);
  if (answer && answer->starts_with(kForkProblem)) {
    throw FaultError("cannot fork a trial: " + answer->substr(kForkProblem.size()));
  }
  if (!answer || !answer->starts_with(kLauncherStarted)) {
    note_death(answer ? "died" : "did not answer");
    return {std::move(planned.ours), 0};
  }
  ++trials_;
  deaths_ = 0;
  return {std::move(planned.ours), std::atoi(answer->c_str() + kLauncherStarted.size())};
}

/// Starts a new server, unless a stop is asked for. An import that worked once should work again: if it
/// fails, a file server may be away for a while. @throws FaultError if servers die one after the other, or it
/// fails for long
void ForkServer::replace_dead(const Stop& stop_requested) {
  if (deaths_ >= kMostDeaths) {
    throw FaultError("command.python: its server has died " + std::to_string(deaths_) +
                     " times without a trial, see " + plan_.log.string());
  }
  const auto begin = steady_clock::now();
  Backoff pauses(kFirstPause, kLongestPause);
  std::string said;
  while (true) {
    try {
      import(stop_requested);
      return;
    } catch (const UserError& problem) {
      if (seconds_since(begin) >= limits_.patience_s) {
        throw FaultError(std::string(problem.what()) + "; earlier it worked");
      }
      if (said != problem.what()) log::warning((said = problem.what()) + "; this is tried again");
    }
    const auto until = steady_clock::now() + pauses.next();
    while (steady_clock::now() < until) {
      if (stop_requested && stop_requested()) return;
      std::this_thread::sleep_for(kImportPoll);
    }
  }
}

/// Sends a request. Returns false if the server is gone.
bool ForkServer::send(const LauncherPlan& planned) {
  const FileDescriptor request = request_of(planned);
  std::vector<End> ends{
      {"request", request.get()}, {"control", planned.control.get()}, {"log", planned.log.get()}};
  if (planned.report) ends.push_back({"report", planned.report.get()});
  if (planned.held) ends.push_back({"held", planned.held.get()});
  return send_ends(process_->channel(), ends);
}

void ForkServer::note_death(const std::string& how) {
  ++deaths_;
  process_.reset();
  warn_with_tail("command.python: its server " + how + ", a new one imports " + name_, plan_.log);
}

}  // namespace skyline::evaluate
