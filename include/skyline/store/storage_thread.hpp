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
  explicit StorageThread(std::size_t capacity = 256);
  ~StorageThread();  // finishes what is queued
  StorageThread(const StorageThread&) = delete;
  StorageThread& operator=(const StorageThread&) = delete;

  /// Queues a job; blocks while the queue is full. After a failure jobs are dropped.
  void submit(std::function<void()> job);
  /// @throws what a job threw
  void rethrow_failure();
  /// Waits until all that was submitted is done. @throws what a job threw
  void drain();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace skyline::store
