#pragma once

#include "core/backoff.hpp"

#include <chrono>
#include <filesystem>
#include <list>
#include <optional>
#include <string>
#include <string_view>

namespace skyline::store {

/// Sets how long this process retries after a storage fault that may pass: a full disk, a server that does
/// not answer or has restarted. Default: 60 s. Current waits follow a change. Any thread.
void set_patience(double seconds);
/// Lowers it for what is left of this process's life: a stop cannot wait for long.
void cut_patience(double seconds);
double patience_s();

/// How hard to try to write a file; kOnce is for files that the run can do without.
enum class Effort { kPatient, kOnce };

/// A system call that failed, and its errno value. None if that is 0.
struct Fault {
  std::string_view call;
  int error = 0;
  explicit operator bool() const { return error != 0; }
};

/// Whether the same thing may work a while later: no space, a server that is away. Not: read-only, no
/// permission, a folder that is gone.
bool may_pass(int error_number);

/// An attempt at a task on a file, known to every thread while it lives.
class Attempt {
 public:
  Attempt(std::string_view task, const std::filesystem::path& path);
  ~Attempt();
  Attempt(const Attempt&) = delete;
  Attempt& operator=(const Attempt&) = delete;
  /// The next attempt at the same task.
  void begin();
  /// A piece of a large file has been written: the calling thread's last attempt is not silent.
  static void advance();

  struct Entry {
    std::string task;
    std::chrono::steady_clock::time_point began;
  };

 private:
  std::list<Entry>::iterator entry_;
  Attempt* const around_;  // of the same thread
};

/// For how long an attempt may last before the file server counts as silent, in s: ten times the patience
/// that was set, since much may have to be written, and at least 20 s.
double silence_s();
/// A task on a file whose attempt, by any thread of this process, has lasted for so long, such as "write
/// runs/a/journal.jsonl". Empty if there is none. Time while nobody asks counts for at most 3 s: the process
/// may have been suspended. Never blocks.
std::string silent_task(double seconds);
/// @throws FaultError if there is one: "cannot write runs/a/journal.jsonl: no answer for 600 s (see ...)"
void check_silence(double seconds);

/// Bears the faults of one task on one file, and tells the log when a wait begins and when it is over.
class Patience {
 public:
  /// @param task, path  as for fail_system; they outlive the object
  Patience(std::string_view task, const std::filesystem::path& path)
      : task_(task), path_(path), attempt_(task, path) {}
  /// Pauses before the next attempt. @throws FaultError, UserError if the fault will not pass, or has lasted
  /// too long: fail_system
  void bear(const Fault& fault);
  /// The task is done.
  void done() const;

 private:
  std::string_view task_;
  const std::filesystem::path& path_;
  Backoff backoff_{std::chrono::milliseconds(10), std::chrono::seconds(2)};
  std::optional<std::chrono::steady_clock::time_point> began_;  // to wait
  Attempt attempt_;
};

/// Runs `attempt`, a function that returns a Fault, until it works.
/// @throws FaultError "cannot <task> <path>: fsync: No space left on device (free some space ...)"
template <typename Try>
void patiently(std::string_view task, const std::filesystem::path& path, Try attempt) {
  Patience patience(task, path);
  while (const Fault fault = attempt()) patience.bear(fault);
  patience.done();
}

}  // namespace skyline::store
