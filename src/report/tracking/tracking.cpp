#include "report/tracking/tracking.hpp"

#include "core/log.hpp"
#include "report/tracking/event_sink.hpp"
#include "report/tracking/metric_thread.hpp"
#include "report/tracking/mlflow_sink.hpp"

#include <chrono>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include <fmt/format.h>

namespace skyline::report {
namespace {

double now_s() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

std::chrono::milliseconds bound_of(RunEnd end) {
  switch (end) {
    case RunEnd::kFinished:
      return std::chrono::seconds(10);
    case RunEnd::kStopped:
      return std::chrono::seconds(3);
    case RunEnd::kFailed:
      break;
  }
  return std::chrono::seconds(2);
}

/// The trials of earlier jobs with their times and volumes, as far as event files know them; the times of the
/// others as of the trial before, or of now.
std::vector<TrackedTrial> as_tracked(std::span<const trial::CommittedTrial> replayed,
                                     const std::map<std::uint64_t, store::RecordedStep>& steps,
                                     double begun_s) {
  double last_s = steps.empty() ? begun_s : steps.begin()->second.unix_s;
  std::vector<TrackedTrial> trials;
  for (const trial::CommittedTrial& committed : replayed) {
    std::optional<double> volume;
    if (const auto step = steps.find(committed.trial.number); step != steps.end()) {
      last_s = step->second.unix_s;
      volume = step->second.value.value_or(std::numeric_limits<double>::quiet_NaN());
    }
    trials.push_back({std::make_shared<const trial::CommittedTrial>(committed), last_s, volume});
  }
  return trials;
}

/// Whatever goes wrong there must not cost the run.
void try_to_start(const char* what, const std::function<void()>& start) {
  try {
    start();
  } catch (const std::exception& problem) {
    log::warning(fmt::format("{}; the run goes on without {}", problem.what(), what));
  }
}

class Tracking final : public RunTracking {
 public:
  explicit Tracking(const TrackingInputs& inputs) : begun_s_(now_s()) {
    try_to_start("tracking", [&] {
      replayed_ =
          as_tracked(inputs.replayed, store::recorded_steps(inputs.paths.events(), kVolumeName), begun_s_);
      if (inputs.events) try_to_start("event files", [&] { add_events(inputs); });
      try_to_start("MLflow", [&] {
        const auto settings = inputs.variable ? mlflow_settings(inputs.variable) : std::nullopt;
        if (settings) add_mlflow(inputs, *settings);
      });
    });
    replayed_ = {};
  }

  void committed(const trial::CommittedTrial& trial) override {
    if (threads_.empty()) return;
    const TrackedTrial tracked{std::make_shared<const trial::CommittedTrial>(trial), now_s()};
    for (const auto& thread : threads_) thread->add(tracked);
  }

  void ended(RunEnd end) override {
    for (const auto& thread : threads_) thread->begin_end(end, bound_of(end));
    for (const auto& thread : threads_) thread->wait_for_end();
  }

  void abandon() override {
    for (const auto& thread : threads_) thread->abandon();
  }

 private:
  void add_thread(const TrackingInputs& inputs, std::unique_ptr<MetricSink> sink,
                  std::shared_ptr<LastMoment> last_moment) {
    threads_.push_back(std::make_unique<MetricThread>(
        std::move(sink), std::move(last_moment), RunMetrics(inputs.objectives, inputs.metrics), replayed_));
  }

  void add_events(const TrackingInputs& inputs) {
    add_thread(inputs, std::make_unique<EventSink>(inputs.paths.events(), begun_s_, replayed_.size()),
               std::make_shared<LastMoment>());
  }

  void add_mlflow(const TrackingInputs& inputs, const MlflowSettings& settings) {
    const auto last_moment = std::make_shared<LastMoment>();
    auto store = settings.address.empty() ? make_mlflow_folder(settings.folder)
                                          : make_mlflow_server(settings, last_moment);
    const std::filesystem::path run = std::filesystem::absolute(inputs.paths.root).lexically_normal();
    const char* user = inputs.variable("USER");
    MlflowJob job{.state = inputs.paths.mlflow_json(),
                  .run_name = (run.has_filename() ? run : run.parent_path()).filename().string(),
                  .user = user == nullptr ? "" : user,
                  .begun_s = begun_s_,
                  .params = mlflow_params(inputs.config),
                  .tags = {{"skyline.version", inputs.version},
                           {"skyline.run_folder", run.string()},
                           {"mlflow.source.name", "skyline"}}};
    add_thread(inputs, std::make_unique<MlflowSink>(settings, std::move(store), std::move(job)), last_moment);
  }

  double begun_s_;
  std::vector<TrackedTrial> replayed_;  // only while threads are made
  std::vector<std::unique_ptr<MetricThread>> threads_;
};

}  // namespace

std::unique_ptr<RunTracking> start_tracking(const TrackingInputs& inputs) {
  return std::make_unique<Tracking>(inputs);
}

}  // namespace skyline::report
