#include "store/publish/storage_thread.hpp"

#include "core/background_queue.hpp"
#include "core/log.hpp"
#include "core/system/may_block.hpp"
#include "store/publish/retry_policy.hpp"

#include <exception>
#include <mutex>
#include <utility>

namespace skyline::store {

struct StorageThread::State {
  State(std::size_t capacity, std::size_t most_bytes) : queue(capacity, most_bytes) {}

  std::function<void()> kept(std::function<void()> job);
  void rethrow();

  std::mutex mutex;  // guards the failure
  std::exception_ptr failure;
  bool failure_reported = false;
  BackgroundQueue queue;  // the last member, because its jobs use the others
};

/// Returns a job that keeps what this one throws, and does nothing after a failure.
std::function<void()> StorageThread::State::kept(std::function<void()> job) {
  return [this, job = std::move(job)] {
    {
      const std::lock_guard lock(mutex);
      if (failure) return;
    }
    try {
      job();
    } catch (...) {
      const std::lock_guard lock(mutex);
      failure = std::current_exception();
    }
  };
}

void StorageThread::State::rethrow() {
  std::unique_lock lock(mutex);
  if (!failure) return;
  failure_reported = true;
  const std::exception_ptr thrown = failure;
  lock.unlock();
  std::rethrow_exception(thrown);
}

StorageThread::StorageThread(std::size_t capacity, std::size_t most_bytes)
    : state_(std::make_unique<State>(capacity, most_bytes)) {}

StorageThread::~StorageThread() {
  state_->queue.drain();
  if (!state_->failure || state_->failure_reported) return;
  try {
    std::rethrow_exception(state_->failure);
  } catch (const std::exception& error) {
    log::error(error.what());
  } catch (...) {
    log::error("a job of the storage thread failed");
  }
}

void StorageThread::submit(std::function<void()> job, std::size_t bytes) {
  may_block("wait for room in the storage thread's queue");
  state_->queue.add(state_->kept(std::move(job)), bytes);
}

void StorageThread::post(std::function<void()> job) {
  state_->queue.post(state_->kept(std::move(job)));
}

void StorageThread::rethrow_failure() {
  state_->rethrow();
  check_stalls(silence_s());
}

bool StorageThread::idle() const {
  return state_->queue.idle();
}

void StorageThread::drain() {
  may_block("wait for the storage thread");
  state_->queue.drain();
  state_->rethrow();
}

}  // namespace skyline::store
