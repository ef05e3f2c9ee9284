#pragma once

#include <cstddef>
#include <functional>
#include <memory>

namespace skyline::store {

/// The one thread of a rank that writes: every HDF5 call, the journal's fsync, weights. Fed by a bounded
/// queue, served in order. An exception in a job is kept and rethrown to the owner by the next
/// rethrow_failure() or drain().
class StorageThread {
 public:
  /// @param capacity    jobs that wait, at most
  /// @param most_bytes  that all jobs together hold, the one at work included
  explicit StorageThread(std::size_t capacity = 256, std::size_t most_bytes = std::size_t{1} << 30U);
  ~StorageThread();  // finishes what is queued
  StorageThread(const StorageThread&) = delete;
  StorageThread& operator=(const StorageThread&) = delete;

  /// Queues a job; blocks while the queue is full. After a failure jobs are dropped.
  /// @param bytes  that the job holds until it is done; one that is larger than `most_bytes` goes alone
  void submit(std::function<void()> job, std::size_t bytes = 0);
  /// @throws what a job threw
  void rethrow_failure();
  /// Whether all that was submitted is done. Never blocks.
  bool idle() const;
  /// Waits until all that was submitted is done. @throws what a job threw
  void drain();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace skyline::store
