#include "comm/mpi/start_watch.hpp"

#include "skyline/core/exit_code.hpp"

#include "comm/environment.hpp"
#include "comm/mpi/mpi_communicator.hpp"
#include "core/backoff.hpp"
#include "core/system/process.hpp"
#include "core/text/foreign_text.hpp"
#include "core/text/wording.hpp"
#include "machine/node.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <optional>
#include <utility>

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace skyline::comm {
namespace {

constexpr double kFirstNotice_s = 60;
// A rank that does not know which rank is missing waits this much longer: ranks that know print first.
constexpr std::chrono::seconds kGrace{3};
// A start that goes on ends by itself after a stop; one that hangs is given up.
constexpr std::chrono::seconds kStopPatience{30};
constexpr std::chrono::seconds kStopLook{1};
// A rank of this node that is suspended will not come by itself. Looking for it means to read all of /proc.
constexpr std::chrono::seconds kSuspensionPatience{30};
constexpr std::chrono::seconds kSuspensionLook{5};
constexpr double kLongest_s = 10 * 365 * 86400.0;  // a longer time would overflow clocks

/// Binds a socket to a name that is unique in this network namespace and that the system releases when the
/// process ends. Returns null if another process has it.
FileDescriptor bind_name(const std::string& name) {
  FileDescriptor socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket) return socket;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  // A name that begins with a zero byte is not a file.
  const std::size_t length = std::min(name.size(), sizeof address.sun_path - 1);
  std::memcpy(address.sun_path + 1, name.data(), length);
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + length);
  if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), size) != 0) socket.reset();
  return socket;
}

constexpr auto kAdvice =
    "a process hangs, or MPI's connections between hosts are blocked or take a wrong network "
    "(OMPI_MCA_btl_tcp_if_include=eth0 names the right one)";

/// Writes e.g. "8-15, 20".
std::string ranges_text(const std::vector<std::size_t>& ranks) {
  std::string text;
  for (std::size_t i = 0; i < ranks.size();) {
    std::size_t last = i;
    while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
    text += (text.empty() ? "" : ", ") + std::to_string(ranks[i]);
    if (last > i) text += "-" + std::to_string(ranks[last]);
    i = last + 1;
  }
  return text;
}

constexpr int kRollCallTag = 1;
constexpr double kTell_s = 0.1;  // pause between texts with the missing ranks, which are long in large jobs
using NameText = std::array<char, 256>;

void wait_all(std::vector<MPI_Request>& requests) {
  Backoff backoff;
  for (int done = 0; done == 0;) {
    check_mpi(MPI_Testall(static_cast<int>(requests.size()), requests.data(), &done, MPI_STATUSES_IGNORE),
              "MPI_Testall");
    if (done == 0) backoff.pause();
  }
}

/// Does rank 0's part; returns when all ranks have answered.
void hear_all(int ranks, std::vector<std::string> hosts, const std::vector<std::string>& job_hosts,
              StartWatch& watch) {
  const auto others = static_cast<std::size_t>(ranks) - 1;
  std::vector<NameText> texts(others);
  std::vector<MPI_Request> requests(others);
  for (std::size_t i = 0; i < others; ++i) {
    check_mpi(MPI_Irecv(texts[i].data(), static_cast<int>(texts[i].size()), MPI_CHAR, static_cast<int>(i) + 1,
                        kRollCallTag, MPI_COMM_WORLD, &requests[i]),
              "MPI_Irecv");
  }
  std::vector<int> done(others);
  Backoff backoff;
  std::optional<std::chrono::steady_clock::time_point> told;
  bool news = true;  // a rank has answered since the missing ones were named
  for (std::size_t heard = 0; heard < others;) {
    int count = 0;
    check_mpi(
        MPI_Testsome(static_cast<int>(others), requests.data(), &count, done.data(), MPI_STATUSES_IGNORE),
        "MPI_Testsome");
    if (count == 0) {
      if (news && (!told || seconds_since(*told) > kTell_s)) {
        watch.knows(describe_missing(hosts, job_hosts));
        told = std::chrono::steady_clock::now();
        news = false;
      }
      backoff.pause();
      continue;
    }
    backoff.reset();
    news = true;
    for (int i = 0; i < count; ++i) {
      const auto index = static_cast<std::size_t>(done[static_cast<std::size_t>(i)]);
      hosts[index + 1] = texts[index].data();
    }
    heard += static_cast<std::size_t>(count);
  }
}

void let_go(int ranks) {
  const char go = 1;
  std::vector<MPI_Request> requests(static_cast<std::size_t>(ranks) - 1);
  for (int rank = 1; rank < ranks; ++rank) {
    check_mpi(MPI_Isend(&go, 1, MPI_CHAR, rank, kRollCallTag, MPI_COMM_WORLD,
                        &requests[static_cast<std::size_t>(rank) - 1]),
              "MPI_Isend");
  }
  wait_all(requests);
}

void answer(const std::string& host, StartWatch& watch) {
  watch.waits_for(
      "no word over MPI from rank 0: it waits for other ranks and names them, or MPI's connections to its "
      "host are blocked");
  NameText text{};
  host.copy(text.data(), text.size() - 1);
  char go = 0;
  std::vector<MPI_Request> requests(2);
  check_mpi(MPI_Isend(text.data(), static_cast<int>(text.size()), MPI_CHAR, 0, kRollCallTag, MPI_COMM_WORLD,
                      &requests[0]),
            "MPI_Isend");
  check_mpi(MPI_Irecv(&go, 1, MPI_CHAR, 0, kRollCallTag, MPI_COMM_WORLD, &requests[1]), "MPI_Irecv");
  wait_all(requests);
}

}  // namespace

StartWatch::StartWatch(const StartOptions& options, const Launch& launch, std::string host)
    : options_(options),
      host_(std::move(host)),
      group_(launch.group),
      name_("[rank " + (launch.rank ? std::to_string(*launch.rank) : "?") + " " + host_ + "] "),
      voice_name_("skyline-start-" + std::to_string(::getuid()) + "-" + launch.group),
      thread_([this](const std::stop_token& stop) { watch(stop); }) {}

StartWatch::~StartWatch() {
  thread_.request_stop();
  thread_.join();
}

void StartWatch::warn(const std::string& text) {
  const std::lock_guard lock(mutex_);
  if (may_speak()) say(name_ + text);
}

void StartWatch::waits_for(std::string what) {
  set(std::move(what), false);
}

void StartWatch::knows(std::string what) {
  set(std::move(what), true);
}

void StartWatch::set(std::string what, bool knows) {
  const std::lock_guard lock(mutex_);
  what_ = std::move(what);
  knows_ = knows;
  changed_.notify_all();  // the time limit may have changed
}

double StartWatch::waited_s() const {
  return seconds_since(started_);
}

std::optional<StartWatch::Clock::time_point> StartWatch::end() const {
  if (!options_.timeout_s) return std::nullopt;
  const std::chrono::duration<double> limit(std::min(*options_.timeout_s, kLongest_s));
  return started_ + std::chrono::duration_cast<Clock::duration>(limit) +
         (knows_ ? Clock::duration() : kGrace);
}

void StartWatch::watch(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  std::chrono::duration<double> notice(options_.timeout_s ? std::min(kFirstNotice_s, *options_.timeout_s / 2)
                                                          : kFirstNotice_s);
  auto look = started_ + kSuspensionLook;
  while (!stop.stop_requested()) {
    const auto now = Clock::now();
    const auto due = started_ + std::chrono::duration_cast<Clock::duration>(notice);
    const auto last = end();
    if (last && now >= *last) {
      give_up("gave up after " + seconds_text(waited_s()) + " (--start-timeout)", kExitFault);
    }
    if (is_asked_to_stop() && now >= *asked_to_stop_ + kStopPatience) {
      may_speak();
      give_up("stopped on a signal, before the job had started", kExitStopped);
    }
    if (now >= look) {
      look = now + kSuspensionLook;
      if (const std::optional<int> rank = find_suspended_rank()) give_up_without(*rank);
    }
    if (now >= due) {
      if (may_speak()) say(name_ + "after " + seconds_text(waited_s()) + ": " + what_);
      notice *= 2;
      continue;
    }
    auto next = std::min(look, last ? std::min(due, *last) : due);
    if (options_.stop_requested) next = std::min(next, now + kStopLook);
    changed_.wait_until(lock, stop, next, [] { return false; });
  }
}

/// Returns whether this process may print: of hundreds of ranks, one per host is enough.
bool StartWatch::may_speak() {
  if (!voice_) voice_ = bind_name(voice_name_);
  return knows_ || voice_;
}

bool StartWatch::is_asked_to_stop() {
  if (!asked_to_stop_ && options_.stop_requested && options_.stop_requested()) asked_to_stop_ = Clock::now();
  return asked_to_stop_.has_value();
}

/// Returns a rank of this node that has been suspended for too long.
std::optional<int> StartWatch::find_suspended_rank() {
  std::map<pid_t, Clock::time_point> seen;
  std::optional<int> found;
  for (const pid_t process : suspended_processes()) {
    const auto variable = [process](const char* name) { return variable_of_process(process, name); };
    const std::optional<int> rank = rank_in_group(variable, group_);
    if (!rank) continue;
    const auto since = suspended_.contains(process) ? suspended_[process] : Clock::now();
    seen[process] = since;
    if (Clock::now() - since >= kSuspensionPatience) found = rank;
  }
  suspended_ = std::move(seen);
  return found;
}

void StartWatch::give_up_without(int rank) {
  // The rank that speaks for the node may be the one that is suspended.
  if (!may_speak()) std::this_thread::sleep_for(kGrace);
  say(name_ + "rank " + std::to_string(rank) + " on " + host_ + " hangs (suspended for " +
      seconds_text(kSuspensionPatience.count()) + ") while the job starts: nothing is lost, start it again");
  flush_streams();
  _exit(asked_to_stop_ ? kExitStopped : kExitFault);
}

void StartWatch::give_up(const std::string& why, int exit_code) {
  if (knows_ || voice_) {  // If the process that spoke for the node has just ended, no other one replaces it.
    say(name_ + why + ": " + what_ + ". Nothing is lost: start the job again");
  } else {
    // When one process ends, the launcher ends the job; so the process that speaks for the node prints first.
    std::this_thread::sleep_for(kGrace);
  }
  flush_streams();
  _exit(exit_code);
}

std::string describe_missing(const std::vector<std::string>& hosts,
                             const std::vector<std::string>& job_hosts) {
  std::vector<std::size_t> missing;
  std::vector<std::string> heard;
  for (std::size_t rank = 0; rank < hosts.size(); ++rank) {
    if (hosts[rank].empty()) {
      missing.push_back(rank);
    } else {
      heard.push_back(hosts[rank]);
    }
  }
  const std::vector<std::string> silent = hosts_without(job_hosts, heard);
  std::string about_silent;
  if (!silent.empty() && silent.size() <= missing.size()) {
    about_silent = " (none at all from " + machine::host_list(silent) + ")";
  } else if (!silent.empty()) {
    about_silent = " (no rank heard on " + machine::host_list(silent) + ", if any were started there)";
  }
  return "no word over MPI from rank" + std::string(missing.size() == 1 ? " " : "s ") + ranges_text(missing) +
         about_silent + "; heard from " + machine::host_list(heard) + ": " + kAdvice;
}

void call_roll(const std::string& host, const std::vector<std::string>& job_hosts, StartWatch& watch) {
  int rank = 0;
  int ranks = 1;
  check_mpi(MPI_Comm_rank(MPI_COMM_WORLD, &rank), "MPI_Comm_rank");
  check_mpi(MPI_Comm_size(MPI_COMM_WORLD, &ranks), "MPI_Comm_size");
  if (rank != 0) return answer(host, watch);
  if (ranks == 1) return;
  std::vector<std::string> hosts(static_cast<std::size_t>(ranks));
  hosts.front() = host;
  hear_all(ranks, std::move(hosts), job_hosts, watch);
  let_go(ranks);
}

}  // namespace skyline::comm
