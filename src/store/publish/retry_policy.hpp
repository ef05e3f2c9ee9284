#pragma once

#include "core/backoff.hpp"

#include <chrono>
#include <filesystem>
#include <list>
#include <optional>
#include <string>
#include <string_view>

namespace skyline::store {

/// Sets how long this process retries after a storage fault that may pass, e.g. a full disk, or a server that
/// does not answer or has restarted. The default is 60 s. Current waits use it at once. Any thread may call
/// it.
void set_patience(double seconds);
/// Lowers the patience for the rest of this process's life, because a stop cannot wait for long.
void cut_patience(double seconds);
double patience_s();

/// How hard to try to write a file. kOnce is for files that the run does not need.
enum class Effort { kPatient, kOnce };

/// A system call that failed, and its errno value; 0 means no fault.
struct Fault {
  std::string_view call;
  int error = 0;
  explicit operator bool() const { return error != 0; }
};

/// Returns whether the same call may work later: no space, a server that is away. A read-only file system, no
/// permission or a missing folder will not pass.
bool is_transient(int error_number);

/// An attempt at a task on a file. Every thread can see it while it lives.
class IoOperation {
 public:
  IoOperation(std::string_view task, const std::filesystem::path& path);
  ~IoOperation();
  IoOperation(const IoOperation&) = delete;
  IoOperation& operator=(const IoOperation&) = delete;
  /// Begins the next attempt at the same task.
  void begin();
  /// Notes that a piece of a large file was written, so that the calling thread's last attempt is not silent.
  static void advance();

  struct Entry {
    std::string task;
    std::chrono::steady_clock::time_point began;
  };

 private:
  std::list<Entry>::iterator entry_;
  IoOperation* const around_;  // the attempt of the same thread around this one
};

/// Returns how long an attempt may last, in s, before the file server counts as silent: ten times the
/// patience that was set, since much may have to be written, and at least 20 s.
double silence_s();
/// Returns the task of an attempt, by any thread of this process, that has lasted for so long, e.g. "write
/// runs/a/journal.jsonl", or an empty text. Between two calls at most 3 s are counted, because the process
/// may have been suspended. Never blocks.
std::string stalled_operation(double seconds);
/// Checks that no attempt has lasted so long.
/// @throws FaultError "cannot write runs/a/journal.jsonl: no answer for 600 s (see ...)"
void check_stalls(double seconds);

/// Waits and retries after faults of one task on one file. The log says when a wait begins and ends.
class RetryPolicy {
 public:
  /// @param task, path  as for fail_system; they must outlive the object
  RetryPolicy(std::string_view task, const std::filesystem::path& path)
      : task_(task), path_(path), attempt_(task, path) {}
  /// Pauses before the next attempt. @throws FaultError, UserError (fail_system) if the fault will not pass,
  /// or has lasted too long
  void on_fault(const Fault& fault);
  /// Call this when the task is done.
  void done() const;

 private:
  std::string_view task_;
  const std::filesystem::path& path_;
  Backoff backoff_{std::chrono::milliseconds(10), std::chrono::seconds(2)};
  std::optional<std::chrono::steady_clock::time_point> began_;  // start of the wait
  IoOperation attempt_;
};

/// Runs `attempt`, a function that returns a Fault, until it works.
/// @throws FaultError "cannot <task> <path>: fsync: No space left on device (free some space ...)"
template <typename Try>
void patiently(std::string_view task, const std::filesystem::path& path, Try attempt) {
  RetryPolicy patience(task, path);
  while (const Fault fault = attempt()) patience.on_fault(fault);
  patience.done();
}

}  // namespace skyline::store
