#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <limits>
#include <memory>

namespace skyline {

/// A thread that does jobs in order: what may be slow, or hang, such as a write to a file server. Jobs throw
/// nothing. Thread-safe.
class BackgroundQueue {
 public:
  static constexpr std::size_t kNoLimit = std::numeric_limits<std::size_t>::max();

  /// @param capacity    most waiting jobs for add() and try_add()
  /// @param most_bytes  limit for the memory of all jobs, the running one included
  explicit BackgroundQueue(std::size_t capacity, std::size_t most_bytes = kNoLimit);
  ~BackgroundQueue();  // like finish(), but does not wait
  BackgroundQueue(const BackgroundQueue&) = delete;
  BackgroundQueue& operator=(const BackgroundQueue&) = delete;

  /// Waits for room.
  /// @param bytes  memory that the job holds until it is done; a job larger than `most_bytes` runs alone
  void add(std::function<void()> job, std::size_t bytes = 0);
  /// Returns false, and drops the job, if `factor` times the capacity wait.
  bool try_add(std::function<void()> job, std::size_t factor = 1);
  /// Adds a small job whatever waits.
  void post(std::function<void()> job);

  /// Returns whether all jobs are done.
  bool idle() const;
  /// Waits until all jobs are done.
  void drain();
  /// Waits so too, at most for this long. Returns whether all are done.
  bool drain_for(std::chrono::milliseconds most);
  /// Does the same and ends the thread; nothing may be added later. If time runs out, the waiting jobs are
  /// dropped, and a thread that is stuck in a job is left to itself: the job must own what it uses.
  bool finish(std::chrono::milliseconds most);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace skyline
