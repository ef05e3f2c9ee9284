#pragma once

#include "report/tracking/metric_sink.hpp"
#include "report/tracking/run_metrics.hpp"

#include <chrono>
#include <memory>
#include <string>
#include <vector>

namespace skyline::report {

/// How patient a MetricThread is.
struct MetricPace {
  std::chrono::milliseconds flush{5000};        // trials wait for others to go with, at most
  std::chrono::milliseconds first_retry{1000};  // doubled after each failure
  std::chrono::milliseconds last_retry{60000};
  std::size_t most_waiting = 100'000;  // trials of this job
};

/// Feeds one sink from a thread of its own, so that a slow disk or server never holds up the run; what goes
/// wrong is a warning. Trials that come while too many wait are left to the next job of the run.
class MetricThread {
 public:
  /// @param last_moment  that the sink looks at as well
  MetricThread(std::unique_ptr<MetricSink> sink, std::shared_ptr<LastMoment> last_moment, RunMetrics metrics,
               MetricPace pace = {});
  ~MetricThread();  // as of a failed run, if nobody has told the end
  MetricThread(const MetricThread&) = delete;
  MetricThread& operator=(const MetricThread&) = delete;

  /// Never blocks. Main thread, in order.
  void add(TrackedTrial trial);
  /// Has the sink stop where it is and tell nobody how the run ended: the run is another process' now.
  void abandon();
  /// Has the sink finish, without waiting for it. @param front  arch ids
  void begin_end(RunEnd end, std::chrono::milliseconds bound, std::vector<std::string> front);
  /// Waits until it has, at most about the bound. A thread that hangs in the file system is left behind.
  void wait_for_end();

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace skyline::report
