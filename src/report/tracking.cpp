#include "skyline/report/tracking.hpp"

#include "skyline/core/log.hpp"

#include "report/event_sink.hpp"
#include "report/metric_thread.hpp"
#include "report/mlflow_sink.hpp"

#include <chrono>
#include <map>
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

/// The trials of earlier jobs with their times, as far as event files know them; the others as of the trial
/// before, or of now.
std::vector<TrackedTrial> with_times(std::span<const objective::CommittedTrial> replayed,
                                     const std::map<std::uint64_t, double>& times, double begun_s) {
  double last_s = times.empty() ? begun_s : times.begin()->second;
  std::vector<TrackedTrial> trials;
  for (const objective::CommittedTrial& committed : replayed) {
    if (const auto time = times.find(committed.trial.number); time != times.end()) last_s = time->second;
    trials.push_back({std::make_shared<const objective::CommittedTrial>(committed), last_s});
  }
  return trials;
}

class Tracking final : public RunTracking {
 public:
  explicit Tracking(const TrackingInputs& inputs)
      : begun_s_(now_s()),
        replayed_(with_times(inputs.replayed, store::event_times(inputs.paths.events()), begun_s_)) {
    if (inputs.events) {
      add_thread(inputs, std::make_unique<EventSink>(inputs.paths.events(), begun_s_, replayed_.size()),
                 std::make_shared<LastMoment>());
    }
    try {
      const auto settings = inputs.variable ? mlflow_settings(inputs.variable) : std::nullopt;
      if (settings) add_mlflow(inputs, *settings);
    } catch (const std::exception& problem) {  // whatever it is: it must not cost the run
      log::warning(fmt::format("{}; the run goes on without MLflow", problem.what()));
    }
    replayed_ = {};
  }

  void committed(const objective::CommittedTrial& trial) override {
    if (threads_.empty()) return;
    const TrackedTrial tracked{std::make_shared<const objective::CommittedTrial>(trial), now_s()};
    for (const auto& thread : threads_) thread->add(tracked);
  }

  void ended(RunEnd end) override {
    for (const auto& thread : threads_) thread->begin_end(end, bound_of(end));
    for (const auto& thread : threads_) thread->wait_for_end();
  }

 private:
  void add_thread(const TrackingInputs& inputs, std::unique_ptr<MetricSink> sink,
                  std::shared_ptr<LastMoment> last_moment) {
    threads_.push_back(std::make_unique<MetricThread>(
        std::move(sink), std::move(last_moment), RunMetrics(inputs.objectives, inputs.metrics), replayed_));
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
