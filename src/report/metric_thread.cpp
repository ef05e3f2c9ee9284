#include "report/metric_thread.hpp"

#include "skyline/core/log.hpp"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include <fmt/format.h>

namespace skyline::report {
namespace {

using Clock = LastMoment::Clock;

constexpr std::chrono::milliseconds kFailedBound{2000};
constexpr std::size_t kTriesAtEnd = 3;
/// A request that is under way notices that the last moment has passed within this time.
constexpr std::chrono::milliseconds kNotice{1500};

}  // namespace

struct MetricThread::State {
  State(std::unique_ptr<MetricSink> its_sink, std::shared_ptr<LastMoment> moment, RunMetrics its_metrics,
        std::vector<TrackedTrial> replayed, MetricPace its_pace)
      : pace(its_pace),
        sink(std::move(its_sink)),
        last_moment(std::move(moment)),
        metrics(std::move(its_metrics)),
        queue(replayed.begin(), replayed.end()),
        most_waiting(replayed.size() + its_pace.most_waiting) {}

  void work();
  void serve();
  bool wait_for_batch();
  bool fill_batch();
  bool deliver();
  void pause_after(const std::string& problem);
  bool ending() const { return how.has_value(); }

  const MetricPace pace;

  // The thread's own.
  const std::unique_ptr<MetricSink> sink;
  const std::shared_ptr<LastMoment> last_moment;
  RunMetrics metrics;
  std::vector<store::MetricRecord> batch;
  std::size_t failures = 0;  // in a row
  std::size_t tries_at_end = 0;

  std::mutex mutex;
  std::condition_variable changed;
  std::deque<TrackedTrial> queue;
  const std::size_t most_waiting;
  bool full = false;  // what comes is dropped: what was taken has no gaps
  std::optional<RunEnd> how;
  bool done = false;
  std::thread thread;
};

void MetricThread::State::work() {
  try {
    serve();
  } catch (const std::exception& problem) {
    log::warning(fmt::format("{}; the run goes on without {}", problem.what(), sink->name()));
  }
  const std::lock_guard lock(mutex);
  full = true;
  queue.clear();
  done = true;
  changed.notify_all();
}

void MetricThread::State::serve() {
  while (wait_for_batch()) {
    bool more_wait = true;
    while (more_wait) {
      more_wait = fill_batch();
      while (!batch.empty()) {
        if (!deliver()) return;  // the last moment has passed
      }
    }
  }
  try {
    sink->end(how.value(), metrics.front());
  } catch (const SinkAway& problem) {
    log::warning(fmt::format("{}; {} does not know how the run ended", problem.what(), sink->name()));
  }
}

/// Until there is something to deliver and it is time; false at the end.
bool MetricThread::State::wait_for_batch() {
  std::unique_lock lock(mutex);
  changed.wait(lock, [this] { return ending() || !queue.empty(); });
  changed.wait_for(lock, pace.flush, [this] { return ending(); });
  return !queue.empty();
}

/// Returns whether it is full.
bool MetricThread::State::fill_batch() {
  std::size_t batch_values = 0;
  std::unique_lock lock(mutex);
  while (batch_values < sink->batch_values() && !queue.empty()) {
    const TrackedTrial trial = std::move(queue.front());
    queue.pop_front();
    lock.unlock();
    batch.push_back(metrics.next(*trial.committed, trial.unix_s));
    batch_values += batch.back().values.size();
    lock.lock();
  }
  return batch_values >= sink->batch_values();
}

/// Whether to go on; the batch is empty once it has been taken.
bool MetricThread::State::deliver() {
  std::string problem;
  try {
    sink->add(batch);
    batch.clear();
    if (std::exchange(failures, 0) > 0) log::info(sink->name() + ": works again");
    return true;
  } catch (const SinkAway& away) {
    problem = away.what();
  }
  pause_after(problem);
  const std::lock_guard lock(mutex);
  if (!ending() || (++tries_at_end < kTriesAtEnd && !last_moment->passed())) return true;
  log::warning(fmt::format("{}; {} trials or more were not taken, a job with --resume adds them", problem,
                           batch.size() + queue.size()));
  return false;
}

void MetricThread::State::pause_after(const std::string& problem) {
  if (failures == 0 && !last_moment->passed())
    log::warning(problem + "; the run goes on, this is tried again");
  const auto doubled = pace.first_retry * (std::int64_t{1} << std::min<std::size_t>(failures, 16));
  ++failures;
  std::unique_lock lock(mutex);
  if (!ending()) {
    changed.wait_for(lock, std::min(doubled, pace.last_retry), [this] { return ending(); });
  } else if (!last_moment->passed()) {
    lock.unlock();
    std::this_thread::sleep_for(pace.first_retry);
  }
}

MetricThread::MetricThread(std::unique_ptr<MetricSink> sink, std::shared_ptr<LastMoment> last_moment,
                           RunMetrics metrics, std::vector<TrackedTrial> replayed, MetricPace pace)
    : state_(std::make_shared<State>(std::move(sink), std::move(last_moment), std::move(metrics),
                                     std::move(replayed), pace)) {
  state_->thread = std::thread([state = state_] { state->work(); });
}

MetricThread::~MetricThread() {
  begin_end(RunEnd::kFailed, kFailedBound);
  wait_for_end();
}

void MetricThread::add(TrackedTrial trial) {
  bool filled = false;
  {
    const std::lock_guard lock(state_->mutex);
    if (state_->full) return;
    state_->queue.push_back(std::move(trial));
    filled = state_->full = state_->queue.size() >= state_->most_waiting;
  }
  state_->changed.notify_all();
  if (filled) {
    log::warning(state_->sink->name() + ": too many trials wait, later ones are left to a job with --resume");
  }
}

void MetricThread::begin_end(RunEnd end, std::chrono::milliseconds bound) {
  const std::lock_guard lock(state_->mutex);
  if (state_->ending()) return;
  state_->last_moment->set(Clock::now() + bound);
  state_->how = end;
  state_->changed.notify_all();
}

void MetricThread::wait_for_end() {
  if (!state_->thread.joinable()) return;
  std::unique_lock lock(state_->mutex);
  while (!state_->done) {
    if (state_->last_moment->passed() &&
        !state_->changed.wait_for(lock, kNotice, [this] { return state_->done; })) {
      lock.unlock();
      log::warning(state_->sink->name() + ": hangs, and is left behind");
      state_->thread.detach();  // it shares what it uses
      return;
    }
    state_->changed.wait_for(lock, std::chrono::milliseconds(50), [this] { return state_->done; });
  }
  lock.unlock();
  state_->thread.join();
}

}  // namespace skyline::report
