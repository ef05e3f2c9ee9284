#pragma once

#include "report/tracking/metric_sink.hpp"

#include <cstdint>
#include <filesystem>

namespace skyline::report {

/// Metrics as TensorBoard's event files: one of this job, which begins with the trials of earlier ones. Once
/// these are all there it is published and replaces their files.
class EventSink final : public MetricSink {
 public:
  /// @param replayed  trials of earlier jobs
  EventSink(const std::filesystem::path& folder, double begun_s, std::uint64_t replayed);

  std::string name() const override;
  std::size_t batch_values() const override { return 100'000; }
  std::uint64_t connect() override { return 0; }
  void add(std::span<const store::MetricRecord> records) override;
  void end(RunEnd, const std::vector<std::string>&) override {}

 private:
  store::EventFile file_;
  std::uint64_t replayed_;
  bool added_ = false;  // what is given again, because others could not be removed
  bool alone_ = false;
};

}  // namespace skyline::report
