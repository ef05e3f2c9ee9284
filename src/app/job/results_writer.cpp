#include "app/job/results_writer.hpp"

#include "core/log.hpp"

#include <algorithm>
#include <exception>
#include <string>
#include <utility>

namespace skyline::app {
namespace {

constexpr double kLongestShare = 0.01;  // of the time, spent on writing

}  // namespace

ResultsWriter::ResultsWriter(objective::ObjectiveSet objectives, Write write, Seconds interval)
    : write_(std::move(write)),
      interval_(interval),
      state_(std::move(objectives)),
      thread_([this](const std::stop_token& end) { work(end); }) {}

void ResultsWriter::started(const run::RunState& /*state*/) {
  started_ = Clock::now();
  const std::lock_guard lock(mutex_);
  next_ = started_ + std::chrono::duration_cast<Clock::duration>(interval_);
}

void ResultsWriter::committed(const run::Commit& commit, const run::RunState& /*state*/) {
  const std::lock_guard lock(mutex_);
  waiting_.push_back(commit);
}

void ResultsWriter::tick(const run::RunState& state) {
  const Clock::time_point now = Clock::now();
  {
    const std::lock_guard lock(mutex_);
    if (due_ || waiting_.empty() || now < next_) return;
    account_ = state.account().after(Seconds(now - started_).count());
    due_ = true;
  }
  changed_.notify_all();
}

void ResultsWriter::finish() {
  thread_.request_stop();
  if (thread_.joinable()) thread_.join();
}

void ResultsWriter::work(const std::stop_token& end) {
  std::unique_lock lock(mutex_);
  while (changed_.wait(lock, end, [this] { return due_; })) {
    const std::vector<run::Commit> commits = std::exchange(waiting_, {});
    const run::RunAccount account = std::exchange(account_, {});
    lock.unlock();
    const Clock::time_point began = Clock::now();
    for (const run::Commit& commit : commits) state_.add(commit);
    try {
      write_(state_, account);
    } catch (const std::exception& problem) {
      log::warning(std::string(problem.what()) + "; the run goes on, its results are out of date");
    }
    const Clock::time_point done = Clock::now();
    const Seconds pause = std::max<Seconds>(interval_, (done - began) * (1 / kLongestShare - 1));
    lock.lock();
    due_ = false;
    next_ = done + std::chrono::duration_cast<Clock::duration>(pause);
  }
}

}  // namespace skyline::app
