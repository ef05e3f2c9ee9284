#include "store/publish/storage_thread.hpp"

#include "skyline/core/error.hpp"

#include "core/log.hpp"
#include "core/system/may_block.hpp"
#include "store/publish/patience.hpp"

#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>

namespace skyline::store {

struct StorageThread::State {
  struct Job {
    std::function<void()> run;
    std::size_t bytes = 0;
  };

  State(std::size_t queue_capacity, std::size_t byte_budget)
      : capacity(queue_capacity), most_bytes(byte_budget) {}

  void work();
  void add(Job job);
  void rethrow(std::unique_lock<std::mutex>& lock);
  bool has_room(std::size_t job_bytes) const {
    const bool fits = held_bytes <= most_bytes && job_bytes <= most_bytes - held_bytes;
    return queue.size() < capacity && (job_bytes == 0 || held_bytes == 0 || fits);
  }

  const std::size_t capacity;
  const std::size_t most_bytes;
  std::mutex mutex;
  std::condition_variable work_came;  // there is a job, or the thread must end
  std::condition_variable room_came;  // a job is done
  std::deque<Job> queue;
  std::size_t held_bytes = 0;  // memory of the waiting jobs and the running one
  bool working = false;
  bool stopping = false;
  std::exception_ptr failure;
  bool failure_reported = false;
  std::thread thread;
};

void StorageThread::State::work() {
  std::unique_lock lock(mutex);
  for (;;) {
    work_came.wait(lock, [this] { return stopping || !queue.empty(); });
    if (queue.empty()) return;
    Job job = std::move(queue.front());
    queue.pop_front();
    working = true;
    const bool dropped = failure != nullptr;
    lock.unlock();
    std::exception_ptr thrown;
    try {
      if (!dropped) job.run();
    } catch (...) {
      thrown = std::current_exception();
    }
    job.run = nullptr;  // frees the job's memory before it is reported as done
    lock.lock();
    working = false;
    held_bytes -= job.bytes;
    if (thrown) failure = thrown;
    room_came.notify_all();
  }
}

/// Adds a job. The caller holds the lock.
void StorageThread::State::add(Job job) {
  if (failure) return;
  held_bytes += job.bytes;
  queue.push_back(std::move(job));
  work_came.notify_one();
}

void StorageThread::State::rethrow(std::unique_lock<std::mutex>& lock) {
  if (!failure) return;
  failure_reported = true;
  const std::exception_ptr thrown = failure;
  lock.unlock();
  std::rethrow_exception(thrown);
}

StorageThread::StorageThread(std::size_t capacity, std::size_t most_bytes)
    : state_(std::make_unique<State>(capacity, most_bytes)) {
  require(capacity > 0, "a storage thread needs room for one job");
  state_->thread = std::thread([state = state_.get()] { state->work(); });
}

StorageThread::~StorageThread() {
  {
    const std::lock_guard lock(state_->mutex);
    state_->stopping = true;
  }
  state_->work_came.notify_all();
  state_->thread.join();
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
  std::unique_lock lock(state_->mutex);
  state_->room_came.wait(lock, [&] { return state_->has_room(bytes); });
  state_->add({std::move(job), bytes});
}

void StorageThread::post(std::function<void()> job) {
  const std::lock_guard lock(state_->mutex);
  state_->add({std::move(job)});
}

void StorageThread::rethrow_failure() {
  {
    std::unique_lock lock(state_->mutex);
    state_->rethrow(lock);
  }
  check_silence(silence_s());
}

bool StorageThread::idle() const {
  const std::lock_guard lock(state_->mutex);
  return state_->queue.empty() && !state_->working;
}

void StorageThread::drain() {
  may_block("wait for the storage thread");
  std::unique_lock lock(state_->mutex);
  state_->room_came.wait(lock, [this] { return state_->queue.empty() && !state_->working; });
  state_->rethrow(lock);
}

}  // namespace skyline::store
