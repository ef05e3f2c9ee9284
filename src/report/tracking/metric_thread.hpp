#pragma once

#include "report/tracking/metric_sink.hpp"
#include "report/tracking/run_metrics.hpp"

#include <chrono>
#include <cstddef>
#include <memory>

namespace skyline::report {

/// The times and limits of a MetricThread.
struct MetricPace {
  std::chrono::milliseconds flush{5000};        // longest wait of a trial for others in the same batch
  std::chrono::milliseconds first_retry{1000};  // doubled after each failure
  std::chrono::milliseconds last_retry{60000};
  std::size_t most_waiting = 100'000;  // number of this job's trials that may wait
};

/// Feeds one sink from its own thread, so that a slow disk never holds up the run; errors are logged as
/// warnings. Trials that come while too many wait are left to the next job of the run.
class MetricThread {
 public:
  MetricThread(std::unique_ptr<MetricSink> sink, RunMetrics metrics, MetricPace pace = {});
  ~MetricThread();  // ends the thread within about two seconds, unless it was ended
  MetricThread(const MetricThread&) = delete;
  MetricThread& operator=(const MetricThread&) = delete;

  /// Adds a trial. Never blocks. Called by the main thread, in order.
  void add(TrackedTrial trial);
  /// Gives the sink nothing more, because the run belongs to another process now.
  void abandon();
  /// Lets the sink take the rest for so long, without waiting for it.
  void begin_end(std::chrono::milliseconds bound);
  /// Waits until the sink has taken the rest, at most about the bound. A hanging thread is abandoned.
  void wait_for_end();

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace skyline::report
