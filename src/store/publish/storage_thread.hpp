#pragma once

#include <cstddef>
#include <functional>
#include <memory>

namespace skyline::store {

/// The one thread of a rank that writes files: it makes every HDF5 call and the journal's fsync, and writes
/// weights. It works through a bounded queue in order. An exception in a job is kept, and the next
/// rethrow_failure() or drain() throws it in the owner's thread.
class StorageThread {
 public:
  /// @param capacity    most waiting jobs
  /// @param most_bytes  limit for the memory of all jobs, the running one included
  explicit StorageThread(std::size_t capacity = 256, std::size_t most_bytes = std::size_t{1} << 30U);
  ~StorageThread();  // finishes the queued jobs
  StorageThread(const StorageThread&) = delete;
  StorageThread& operator=(const StorageThread&) = delete;

  /// Queues a job; waits while the queue is full. After a failure jobs are dropped.
  /// @param bytes  memory that the job holds until it is done; a job larger than `most_bytes` runs alone
  void submit(std::function<void()> job, std::size_t bytes = 0);
  /// Queues a small job without any limit, for a thread that must never wait.
  void post(std::function<void()> job);
  /// Throws the failure of a job, if there is one.
  /// @throws FaultError also if a call on a file, by any thread, has not returned for silence_s()
  void rethrow_failure();
  /// Returns whether all submitted jobs are done. Never blocks.
  bool idle() const;
  /// Waits until all submitted jobs are done. @throws the failure of a job
  void drain();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace skyline::store
