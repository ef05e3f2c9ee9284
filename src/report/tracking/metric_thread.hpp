#pragma once

#include "report/tracking/metric_sink.hpp"
#include "report/tracking/run_metrics.hpp"

#include <chrono>
#include <memory>
#include <string>
#include <vector>

namespace skyline::report {

/// The times and limits of a MetricThread.
struct MetricPace {
  std::chrono::milliseconds flush{5000};        // longest wait of a trial for others in the same batch
  std::chrono::milliseconds first_retry{1000};  // doubled after each failure
  std::chrono::milliseconds last_retry{60000};
  std::size_t most_waiting = 100'000;  // number of this job's trials that may wait
};

/// Feeds one sink from its own thread, so that a slow disk or server never holds up the run; errors are
/// logged as warnings. Trials that come while too many wait are left to the next job of the run.
class MetricThread {
 public:
  /// @param last_moment  must be the one that the sink uses
  MetricThread(std::unique_ptr<MetricSink> sink, std::shared_ptr<LastMoment> last_moment, RunMetrics metrics,
               MetricPace pace = {});
  ~MetricThread();  // ends as for a failed run, unless the end was reported
  MetricThread(const MetricThread&) = delete;
  MetricThread& operator=(const MetricThread&) = delete;

  /// Adds a trial. Never blocks. Called by the main thread, in order.
  void add(TrackedTrial trial);
  /// Stops the sink without reporting an end, because the run belongs to another process now.
  void abandon();
  /// Lets the sink finish, without waiting for it.
  /// @param front  arch ids
  void begin_end(RunEnd end, std::chrono::milliseconds bound, std::vector<std::string> front);
  /// Waits until the sink has finished, at most about the bound. A hanging thread is abandoned.
  void wait_for_end();

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace skyline::report
