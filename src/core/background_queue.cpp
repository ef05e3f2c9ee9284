#include "core/background_queue.hpp"

#include "skyline/core/error.hpp"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>

namespace skyline {

struct BackgroundQueue::State {
  struct Job {
    std::function<void()> run;
    std::size_t bytes = 0;
  };

  void work();
  /// Adds a job. The caller holds the lock.
  void push(Job job) {
    held_bytes += job.bytes;
    jobs.push_back(std::move(job));
    changed.notify_all();
  }
  bool is_idle() const { return jobs.empty() && !working; }
  bool has_room(std::size_t bytes) const {
    const bool fits = held_bytes <= most_bytes && bytes <= most_bytes - held_bytes;
    return jobs.size() < capacity && (bytes == 0 || held_bytes == 0 || fits);
  }

  std::size_t capacity = 0;
  std::size_t most_bytes = kNoLimit;
  std::mutex mutex;  // guards all members below
  std::condition_variable changed;
  std::deque<Job> jobs;
  std::size_t held_bytes = 0;  // memory of the waiting jobs and the running one
  bool working = false;
  bool ending = false;
  std::thread thread;
};

void BackgroundQueue::State::work() {
  std::unique_lock lock(mutex);
  for (;;) {
    changed.wait(lock, [this] { return ending || !jobs.empty(); });
    if (jobs.empty()) return;
    Job job = std::move(jobs.front());
    jobs.pop_front();
    working = true;
    lock.unlock();
    job.run();
    job.run = nullptr;  // frees the job's memory before it is reported as done
    lock.lock();
    working = false;
    held_bytes -= job.bytes;
    changed.notify_all();
  }
}

BackgroundQueue::BackgroundQueue(std::size_t capacity, std::size_t most_bytes)
    : state_(std::make_shared<State>()) {
  require(capacity > 0, "a queue needs room for one job");
  state_->capacity = capacity;
  state_->most_bytes = most_bytes;
  state_->thread = std::thread([state = state_] { state->work(); });
}

BackgroundQueue::~BackgroundQueue() {
  if (state_->thread.joinable()) finish(std::chrono::milliseconds(0));
}

void BackgroundQueue::add(std::function<void()> job, std::size_t bytes) {
  std::unique_lock lock(state_->mutex);
  state_->changed.wait(lock, [&] { return state_->has_room(bytes); });
  state_->push({std::move(job), bytes});
}

bool BackgroundQueue::try_add(std::function<void()> job, std::size_t factor) {
  const std::lock_guard lock(state_->mutex);
  if (state_->jobs.size() / factor >= state_->capacity) return false;
  state_->push({std::move(job)});
  return true;
}

void BackgroundQueue::post(std::function<void()> job) {
  const std::lock_guard lock(state_->mutex);
  state_->push({std::move(job)});
}

bool BackgroundQueue::idle() const {
  const std::lock_guard lock(state_->mutex);
  return state_->is_idle();
}

void BackgroundQueue::drain() {
  std::unique_lock lock(state_->mutex);
  state_->changed.wait(lock, [this] { return state_->is_idle(); });
}

bool BackgroundQueue::drain_for(std::chrono::milliseconds most) {
  std::unique_lock lock(state_->mutex);
  return state_->changed.wait_for(lock, most, [this] { return state_->is_idle(); });
}

bool BackgroundQueue::finish(std::chrono::milliseconds most) {
  const bool done = drain_for(most);
  {
    const std::lock_guard lock(state_->mutex);
    state_->ending = true;
    if (!done) state_->jobs.clear();
  }
  state_->changed.notify_all();
  if (done) {
    state_->thread.join();
  } else {
    state_->thread.detach();  // the thread shares ownership of the state
  }
  return done;
}

}  // namespace skyline
