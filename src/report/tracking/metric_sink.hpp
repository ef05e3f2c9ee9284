#pragma once

#include "skyline/core/error.hpp"

#include "store/events/event_file.hpp"

#include <cstdint>
#include <span>
#include <string>

namespace skyline::report {

/// Thrown if something that a sink needs is unavailable for now. The same records will be given again.
class SinkAway final : public FaultError {
 public:
  using FaultError::FaultError;
};

/// A destination of a run's metrics. One thread of its own uses it, which may wait for files.
class MetricSink {
 public:
  virtual ~MetricSink() = default;
  /// Returns the name for messages, e.g. "event file runs/a/events/...".
  virtual std::string name() const = 0;
  /// Connects; called before the first records. Returns the first step that it needs: earlier ones were taken
  /// from an earlier job. @throws as add
  virtual std::uint64_t connect() = 0;
  /// Takes the next trials in order, without gaps. @throws SinkAway to get them again later, UserError to
  /// stop
  virtual void add(std::span<const store::MetricRecord> records) = 0;
};

}  // namespace skyline::report
