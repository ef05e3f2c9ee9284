#include "report/tracking/tracking.hpp"

#include "skyline/core/exit_code.hpp"

#include "core/backoff.hpp"
#include "core/log.hpp"
#include "report/tracking/metric_thread.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace skyline::report {
namespace {

std::chrono::seconds bound_of(RunEnd end) {
  constexpr std::array<int, 3> kSeconds{10, 3, 2};  // for finished, stopped, failed
  return std::chrono::seconds(kSeconds.at(static_cast<std::size_t>(end)));
}

/// Runs a task on storage. Its errors become SinkAway, because storage may work later.
template <typename Task>
auto with_retry(const Task& task) {
  try {
    return task();
  } catch (const Problem& problem) {
    throw SinkAway(problem.what());
  }
}

/// Writes metrics as TensorBoard's event files. Each job writes its own, which begins with the first trial
/// that those of earlier jobs lack: a killed job has not written its last seconds.
class EventSink final : public MetricSink {
 public:
  /// @param replayed  number of trials of earlier jobs
  EventSink(const std::filesystem::path& folder, double begun_s, std::uint64_t replayed)
      : file_(folder, begun_s), replayed_(replayed) {}

  std::string name() const override { return "event file " + file_.path().string(); }
  std::uint64_t connect() override {
    return with_retry(
        [&] { return std::min(replayed_, store::first_step_without_event(file_.path().parent_path())); });
  }
  void add(std::span<const store::MetricRecord> records) override {
    with_retry([&] { file_.add(records); });
  }

 private:
  store::EventFile file_;
  std::uint64_t replayed_;
};

class Tracking final : public RunTracking {
 public:
  explicit Tracking(const TrackingInputs& inputs) : begun_s_(unix_now_s()) {
    try {
      if (inputs.events) {
        thread_ = std::make_unique<MetricThread>(
            std::make_unique<EventSink>(inputs.paths.events(), begun_s_, inputs.replayed),
            RunMetrics(inputs.objectives, inputs.metrics));
      }
    } catch (const std::exception& problem) {  // e.g. no thread can be started: the run goes on
      log::warning(fmt::format("{}; the run goes on without event files", error_text(problem)));
    }
  }

  void committed(const run::Commit& commit, const run::RunState& state) override {
    if (thread_) thread_->add({commit, state, commit.replayed ? begun_s_ : unix_now_s()});
  }
  void ended(RunEnd end) override {
    if (!thread_) return;
    thread_->begin_end(bound_of(end));
    thread_->wait_for_end();
  }
  void abandon() override {
    if (thread_) thread_->abandon();
  }

 private:
  double begun_s_;
  std::unique_ptr<MetricThread> thread_;
};

}  // namespace

std::unique_ptr<RunTracking> start_tracking(const TrackingInputs& inputs) {
  return std::make_unique<Tracking>(inputs);
}

}  // namespace skyline::report
