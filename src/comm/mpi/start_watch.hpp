#pragma once

#include "comm/environment.hpp"
#include "comm/launcher.hpp"
#include "core/system/unique_handle.hpp"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace skyline::comm {

/// A thread that says what this process waits for while a job comes together, and ends the process when it
/// has waited too long: the main thread may be inside MPI, in a call that never returns. It works from
/// construction to destruction; one object at a time.
class StartWatch {
 public:
  StartWatch(const StartOptions& options, const Launch& launch, std::string host);
  StartWatch(const StartWatch&) = delete;
  StartWatch& operator=(const StartWatch&) = delete;
  /// Ends the watch: the job is complete.
  ~StartWatch();

  /// Sets what the main thread waits for from now on: the text after "after 60 s: ".
  void waits_for(std::string what);
  /// Like waits_for, on a rank that knows who is missing: it always speaks, and first.
  void knows(std::string what);

 private:
  using Clock = std::chrono::steady_clock;
  void set(std::string what, bool knows);
  void watch(const std::stop_token& stop);
  bool may_speak();
  void say(const std::string& text);
  [[noreturn]] void give_up();
  double waited_s() const;
  std::optional<Clock::time_point> end() const;

  const StartOptions options_;
  const std::string name_;        // "[rank 3 node07] "
  const std::string voice_name_;  // of the node's voice in this job
  const Clock::time_point started_ = Clock::now();
  FileDescriptor voice_;  // a socket: the first process of the node to hold it speaks for the others

  std::mutex mutex_;  // guards the members below
  std::condition_variable_any changed_;
  std::string what_;
  bool knows_ = false;
  std::jthread thread_;  // last: it uses all the others
};

/// Collective, the first exchange of a job, on MPI_COMM_WORLD: returns when rank 0 has heard of every rank
/// and every rank of rank 0. It polls, and meanwhile tells `watch` who is missing.
/// @param job_hosts  on which ranks may run, as the launcher gives them; may be empty
void call_roll(const std::string& host, const std::vector<std::string>& job_hosts, StartWatch& watch);

/// Says who is missing: "no word over MPI from ranks 8-15 (none at all from node08); heard from node07: ..."
/// @param hosts  [ranks] name of each host that has answered, else empty; at least one is empty
/// @param job_hosts  as the launcher gives them; may be empty
std::string describe_missing(const std::vector<std::string>& hosts,
                             const std::vector<std::string>& job_hosts);

}  // namespace skyline::comm
