#pragma once

#include "core/backoff.hpp"
#include "core/log.hpp"
#include "store/journal/journal.hpp"
#include "store/journal/trial_json.hpp"
#include "store/publish/storage_thread.hpp"
#include "store/run_folder/run_folder.hpp"

#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

namespace skyline::engine {

/// The files of a run that one rank writes.
struct RunFiles {
  store::RunPaths paths;
  store::JournalHeader header;    // header of a new journal; files of waiting results repeat it
  store::StorageThread& storage;  // writes this rank's files; must outlive the slots
  store::RunStamp stamp() const { return {header.skyline_version, header.config_hash}; }
};

/// With usual settings a file server's clients see a new name after up to 60 s.
inline constexpr double kVisibleAfter = 1.5;  // in units of the patience, which is 60 s by default

/// Runs `call` on a rank's storage thread and waits for its result; for the rank's other threads.
/// @throws what `call` throws; if the storage thread has failed before, its error
template <typename Result>
Result call_storage(store::StorageThread& storage, std::function<Result()> call) {
  auto task = std::make_shared<std::packaged_task<Result()>>(std::move(call));
  std::future<Result> result = task->get_future();
  storage.submit([task = std::move(task)] { (*task)(); });
  try {
    return result.get();
  } catch (const std::future_error&) {  // the job was dropped
    storage.rethrow_failure();
    throw;
  }
}

/// Repeats `attempt`, with growing pauses, until it returns true, `stop` is set, or the time is over. Returns
/// the seconds that this took.
template <typename Attempt>
double try_for(double most_s, const std::atomic<bool>& stop, Attempt&& attempt) {
  using namespace std::chrono_literals;
  const auto began = std::chrono::steady_clock::now();
  for (Backoff backoff(10ms, 1000ms); !stop && !attempt() && seconds_since(began) < most_s;) backoff.pause();
  return seconds_since(began);
}

/// Warns about a repeated problem at most once a minute. Any thread may use it.
class RareWarning {
 public:
  void warn(const std::string& text) {
    const std::lock_guard lock(mutex_);
    const Clock::time_point now = Clock::now();
    if (warned_ && now < *warned_ + std::chrono::minutes(1)) return;
    warned_ = now;
    log::warning(text);
  }

 private:
  using Clock = std::chrono::steady_clock;
  std::mutex mutex_;
  std::optional<Clock::time_point> warned_;
};

}  // namespace skyline::engine
