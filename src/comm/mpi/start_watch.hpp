#pragma once

#include "comm/environment.hpp"
#include "comm/launcher.hpp"
#include "core/system/open_file.hpp"

#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <sys/types.h>

namespace skyline::comm {

/// A thread that prints what this process waits for while a job starts, and ends the process when it has
/// waited too long, or when a rank of its node has been suspended for half a minute. The main thread cannot
/// do that: it may be inside MPI, in a call that never returns. It runs from construction to destruction.
/// There may be one object at a time.
class StartWatch {
 public:
  StartWatch(const StartOptions& options, const Launch& launch, std::string host);
  StartWatch(const StartWatch&) = delete;
  StartWatch& operator=(const StartWatch&) = delete;
  /// Ends the watch, because the job is complete.
  ~StartWatch();

  /// Sets what the main thread waits for now: the text after "after 60 s: ".
  void waits_for(std::string what);
  /// Prints a line, once a node.
  void warn(const std::string& text);
  /// Like waits_for, for a rank that knows who is missing. Such a rank always prints, and first.
  void knows(std::string what);

 private:
  using Clock = std::chrono::steady_clock;
  void set(std::string what, bool knows);
  void watch(const std::stop_token& stop);
  bool may_speak();
  bool is_asked_to_stop();
  std::optional<int> find_suspended_rank();
  [[noreturn]] void give_up_without(int rank);
  [[noreturn]] void give_up(const std::string& why, int exit_code);
  double waited_s() const;
  std::optional<Clock::time_point> end() const;

  const StartOptions options_;
  const std::string host_;
  const std::string group_;       // Launch::group
  const std::string name_;        // e.g. "[rank 3 node07] "
  const std::string voice_name_;  // name of the socket in voice_
  const Clock::time_point started_ = Clock::now();
  FileDescriptor voice_;  // the first process of a node that holds this socket prints for the others

  std::mutex mutex_;  // guards the members below
  std::condition_variable_any changed_;
  std::string what_;
  bool knows_ = false;
  std::optional<Clock::time_point> asked_to_stop_;  // when that was seen
  std::map<pid_t, Clock::time_point> suspended_;    // ranks of this node: when that was first seen
  std::jthread thread_;                             // the last member, because it uses all others
};

/// The first exchange of a job, on MPI_COMM_WORLD. Returns when rank 0 has heard from every rank, and every
/// rank from rank 0. It polls, and meanwhile tells `watch` which ranks are missing. Collective.
/// @param job_hosts  hosts on which ranks may run, from the launcher; may be empty
void call_roll(const std::string& host, const std::vector<std::string>& job_hosts, StartWatch& watch);

/// Says who is missing: "no word over MPI from ranks 8-15 (none at all from node08); heard from node07: ..."
/// @param hosts      [ranks] host of each rank that has answered, empty for the others; at least one is empty
/// @param job_hosts  hosts on which ranks may run, from the launcher; may be empty
std::string describe_missing(const std::vector<std::string>& hosts,
                             const std::vector<std::string>& job_hosts);

}  // namespace skyline::comm
