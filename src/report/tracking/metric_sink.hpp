#pragma once

#include "skyline/core/error.hpp"

#include "report/report.hpp"
#include "store/events/event_file.hpp"

#include <atomic>
#include <chrono>
#include <span>
#include <string>
#include <vector>

namespace skyline::report {

/// Thrown if something that a sink needs is unavailable for now. The same records will be given again.
class SinkAway final : public FaultError {
 public:
  /// The expected duration.
  enum class Span { kShort, kLong };
  explicit SinkAway(const std::string& problem, Span span = Span::kShort)
      : FaultError(problem), is_long_(span == Span::kLong) {}
  bool is_long() const { return is_long_; }

 private:
  bool is_long_;
};

/// The time until which a sink may still try at the end of a run. Any thread may use it.
class LastMoment {
 public:
  using Clock = std::chrono::steady_clock;
  void set(Clock::time_point moment) { ticks_ = moment.time_since_epoch().count(); }
  bool passed() const { return Clock::now().time_since_epoch().count() >= ticks_; }

 private:
  std::atomic<Clock::rep> ticks_ = Clock::time_point::max().time_since_epoch().count();
};

/// A destination of a run's metrics. One thread of its own uses it, which may wait for files and servers.
class MetricSink {
 public:
  virtual ~MetricSink() = default;
  /// Returns the name for messages, e.g. "event files in runs/a/events".
  virtual std::string name() const = 0;
  /// Returns the number of values, roughly, that one call of `add` should get.
  virtual std::size_t batch_values() const = 0;
  /// Connects; called before the first records. Returns the first step that it needs: earlier ones were taken
  /// from an earlier job. @throws as add
  virtual std::uint64_t connect() = 0;
  /// Takes the next trials in order, without gaps. @throws SinkAway to get them again later, UserError to
  /// stop
  virtual void add(std::span<const store::MetricRecord> records) = 0;
  /// Ends the sink: no more records come, perhaps because of an error.
  /// @param front  arch ids  @throws as add
  virtual void end(RunEnd end, const std::vector<std::string>& front) = 0;
};

}  // namespace skyline::report
