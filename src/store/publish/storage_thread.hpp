#pragma once

#include <cstddef>
#include <functional>
#include <memory>

namespace skyline::store {

/// The one thread of a rank that writes: every HDF5 call, the journal's fsync, weights. Works through a
/// bounded queue in order. An exception in a job is kept and rethrown to the owner by the next
/// rethrow_failure() or drain().
class StorageThread {
 public:
  /// @param capacity  most waiting jobs
  /// @param most_bytes  that all jobs may hold together, including the running one
  explicit StorageThread(std::size_t capacity = 256, std::size_t most_bytes = std::size_t{1} << 30U);
  ~StorageThread();  // finishes the queued jobs
  StorageThread(const StorageThread&) = delete;
  StorageThread& operator=(const StorageThread&) = delete;

  /// Queues a job; waits while the queue is full. After a failure jobs are dropped.
  /// @param bytes  that the job holds until it is done; a job larger than `most_bytes` runs alone
  void submit(std::function<void()> job, std::size_t bytes = 0);
  /// The same without a bound of the queue, for a thread that must never wait. Its jobs must be small.
  void post(std::function<void()> job);
  /// Rethrows the failure of a job, if any. @throws FaultError too if a call on a file, of any thread, has
  /// not returned for silence_s()
  void rethrow_failure();
  /// Whether all submitted jobs are done. Never blocks.
  bool idle() const;
  /// Waits until all submitted jobs are done. @throws the failure of a job
  void drain();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace skyline::store
