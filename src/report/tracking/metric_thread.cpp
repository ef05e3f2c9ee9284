#include "report/tracking/metric_thread.hpp"

#include "core/backoff.hpp"
#include "core/log.hpp"

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include <fmt/format.h>

namespace skyline::report {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kShortBound{2000};
constexpr std::size_t kBatchValues = 100'000;
constexpr std::size_t kTriesAtEnd = 3;
/// A call of the sink that takes longer after the last moment hangs.
constexpr std::chrono::milliseconds kNotice{1500};

}  // namespace

struct MetricThread::State {
  State(std::unique_ptr<MetricSink> its_sink, RunMetrics its_metrics, MetricPace its_pace)
      : pace(its_pace),
        sink(std::move(its_sink)),
        metrics(std::move(its_metrics)),
        most_waiting(its_pace.most_waiting) {}

  void work();
  void serve();
  bool wait_for_batch();
  bool fill_batch();
  bool attempt(const std::function<void()>& task);
  void pause_after(const SinkAway& problem);
  bool is_too_late();
  void drop_rest();

  // The caller holds the mutex.
  bool ending() const { return last_moment.has_value(); }
  bool out_of_time() const { return ending() && Clock::now() >= *last_moment; }
  void warn_of_rest(const std::string& problem) const;

  const MetricPace pace;

  // Members that only the thread uses.
  const std::unique_ptr<MetricSink> sink;
  RunMetrics metrics;
  std::vector<store::MetricRecord> batch;
  std::uint64_t first_wanted = 0;
  bool is_away = false;
  Backoff retry{pace.first_retry, pace.last_retry};
  std::size_t tries_at_end = 0;

  std::mutex mutex;
  std::condition_variable changed;
  std::deque<TrackedTrial> queue;
  std::size_t most_waiting;
  bool full = false;  // further trials are dropped, so that the taken ones have no gaps
  std::optional<Clock::time_point> last_moment;  // set at the end
  bool abandoned = false;
  bool done = false;
  std::thread thread;
};

void MetricThread::State::work() {
  try {
    serve();
  } catch (const std::exception& problem) {
    log::warning(fmt::format("{}; the run goes on without {}", problem.what(), sink->name()));
  }
  drop_rest();
  const std::lock_guard lock(mutex);
  done = true;
  changed.notify_all();
}

void MetricThread::State::drop_rest() {
  const std::lock_guard lock(mutex);
  full = true;
  queue.clear();
}

void MetricThread::State::serve() {
  bool connected = false;
  while (wait_for_batch()) {
    if (!connected && !attempt([this] { first_wanted = sink->connect(); })) return;
    connected = true;
    bool more_wait = true;
    while (more_wait) {
      more_wait = fill_batch();
      if (!batch.empty() && !attempt([this] { sink->add(batch); })) return;
      batch.clear();
    }
    if (is_too_late()) return;
  }
}

/// Waits until there is something to deliver and its time has come. Returns false at the end.
bool MetricThread::State::wait_for_batch() {
  std::unique_lock lock(mutex);
  changed.wait(lock, [this] { return ending() || !queue.empty(); });
  changed.wait_for(lock, pace.flush, [this] { return ending(); });
  return !queue.empty();
}

bool MetricThread::State::fill_batch() {
  std::size_t batch_values = 0;
  std::unique_lock lock(mutex);
  while (batch_values < kBatchValues && !queue.empty() && !out_of_time()) {
    const TrackedTrial trial = std::move(queue.front());
    queue.pop_front();
    lock.unlock();
    if (trial.trial->position >= first_wanted) {
      batch.push_back(metrics.record(trial));
      batch_values += batch.back().values.size();
    }
    lock.lock();
  }
  return batch_values >= kBatchValues;
}

bool MetricThread::State::is_too_late() {
  const std::lock_guard lock(mutex);
  if (!out_of_time() || queue.empty()) return false;
  warn_of_rest(sink->name() + ": no time is left");
  return true;
}

void MetricThread::State::warn_of_rest(const std::string& problem) const {
  if (abandoned) return;
  log::warning(fmt::format("{}; {} trials or more were not taken, a job with --resume adds them", problem,
                           batch.size() + queue.size()));
}

/// Runs the task, again while the sink is away. Returns false if the end came first.
bool MetricThread::State::attempt(const std::function<void()>& task) {
  for (;;) {
    std::optional<SinkAway> problem;
    try {
      task();
      if (std::exchange(is_away, false)) log::info(sink->name() + ": works again");
      retry.reset();
      return true;
    } catch (const SinkAway& away) {
      problem = away;
    }
    pause_after(*problem);
    const std::lock_guard lock(mutex);
    if (ending() && (++tries_at_end >= kTriesAtEnd || out_of_time())) {
      warn_of_rest(problem->what());
      return false;
    }
  }
}

void MetricThread::State::pause_after(const SinkAway& problem) {
  const Backoff::Duration pause = retry.next();
  std::unique_lock lock(mutex);
  if (!std::exchange(is_away, true) && !out_of_time()) {
    log::warning(fmt::format("{}; the run goes on, this is tried again", problem.what()));
  }
  if (!ending()) {
    changed.wait_for(lock, pause, [this] { return ending(); });
  } else if (!out_of_time()) {
    lock.unlock();
    std::this_thread::sleep_for(pace.first_retry);
  }
}

MetricThread::MetricThread(std::unique_ptr<MetricSink> sink, RunMetrics metrics, MetricPace pace)
    : state_(std::make_shared<State>(std::move(sink), std::move(metrics), pace)) {
  state_->thread = std::thread([state = state_] { state->work(); });
}

MetricThread::~MetricThread() {
  begin_end(kShortBound);
  wait_for_end();
}

void MetricThread::add(TrackedTrial trial) {
  bool filled = false;
  {
    const std::lock_guard lock(state_->mutex);
    if (state_->full) return;
    if (trial.replayed) ++state_->most_waiting;  // only trials of this job are limited
    state_->queue.push_back(std::move(trial));
    filled = state_->full = state_->queue.size() >= state_->most_waiting;
  }
  state_->changed.notify_all();
  if (filled) {
    log::warning(state_->sink->name() + ": too many trials wait, later ones are left to a job with --resume");
  }
}

void MetricThread::abandon() {
  const std::lock_guard lock(state_->mutex);
  state_->abandoned = state_->full = true;
  state_->queue.clear();
  state_->last_moment = Clock::now();
  state_->changed.notify_all();
}

void MetricThread::begin_end(std::chrono::milliseconds bound) {
  const std::lock_guard lock(state_->mutex);
  if (state_->ending()) return;
  state_->last_moment = Clock::now() + bound;
  state_->changed.notify_all();
}

void MetricThread::wait_for_end() {
  if (!state_->thread.joinable()) return;
  std::unique_lock lock(state_->mutex);
  if (state_->changed.wait_until(lock, *state_->last_moment + kNotice, [this] { return state_->done; })) {
    lock.unlock();
    state_->thread.join();
    return;
  }
  lock.unlock();
  log::warning(state_->sink->name() + ": hangs, and is abandoned");
  state_->thread.detach();  // the thread shares ownership of what it uses
}

}  // namespace skyline::report
