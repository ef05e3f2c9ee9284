#include "report/tracking/tracking.hpp"

#include "skyline/core/exit_code.hpp"

#include "core/backoff.hpp"
#include "core/log.hpp"
#include "report/tracking/metric_thread.hpp"
#include "report/tracking/mlflow_sink.hpp"

#include <array>
#include <chrono>
#include <functional>
#include <map>
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

/// Writes metrics as TensorBoard's event files. Each job writes its own, which begins after the trials of
/// earlier jobs if these have written files.
class EventSink final : public MetricSink {
 public:
  /// @param replayed  number of trials of earlier jobs
  EventSink(const std::filesystem::path& folder, double begun_s, std::uint64_t replayed)
      : file_(folder, begun_s), replayed_(replayed) {}

  std::string name() const override { return "event file " + file_.path().string(); }
  std::size_t batch_values() const override { return 100'000; }
  std::uint64_t connect() override {
    return with_retry([&] { return store::has_event_files(file_.path().parent_path()) ? replayed_ : 0; });
  }
  void add(std::span<const store::MetricRecord> records) override {
    with_retry([&] { file_.add(records); });
  }
  void end(RunEnd, const std::vector<std::string>&) override {}

 private:
  store::EventFile file_;
  std::uint64_t replayed_;
};

/// Runs `start`; an error in it must not end the run.
void try_to_start(const char* what, const std::function<void()>& start) {
  try {
    start();
  } catch (const std::exception& problem) {
    log::warning(fmt::format("{}; the run goes on without {}", error_text(problem), what));
  }
}

class Tracking final : public RunTracking {
 public:
  explicit Tracking(const TrackingInputs& inputs) : begun_s_(unix_now_s()) {
    try_to_start("tracking", [&] {
      if (inputs.events) try_to_start("event files", [&] { add_events(inputs); });
      try_to_start("MLflow", [&] {
        const auto settings = inputs.variable ? mlflow_settings(inputs.variable) : std::nullopt;
        if (settings) add_mlflow(inputs, *settings);
      });
    });
  }

  void committed(const run::Commit& commit, const run::RunState& state) override {
    if (threads_.empty()) return;
    const TrackedTrial tracked(commit, state, commit.replayed ? begun_s_ : unix_now_s());
    keep_front(*commit.trial, state);
    for (const auto& thread : threads_) thread->add(tracked);
  }

  void ended(RunEnd end) override {
    std::vector<std::string> ids;
    for (const auto& [number, id] : front_ids_) ids.push_back(space::to_text(id));
    for (const auto& thread : threads_) thread->begin_end(end, bound_of(end), ids);
    for (const auto& thread : threads_) thread->wait_for_end();
  }

  void abandon() override {
    for (const auto& thread : threads_) thread->abandon();
  }

 private:
  void add_thread(const TrackingInputs& inputs, std::unique_ptr<MetricSink> sink,
                  std::shared_ptr<LastMoment> last_moment) {
    threads_.push_back(std::make_unique<MetricThread>(std::move(sink), std::move(last_moment),
                                                      RunMetrics(inputs.objectives, inputs.metrics)));
  }

  void add_events(const TrackingInputs& inputs) {
    add_thread(inputs, std::make_unique<EventSink>(inputs.paths.events(), begun_s_, inputs.replayed),
               std::make_shared<LastMoment>());
  }

  void add_mlflow(const TrackingInputs& inputs, const MlflowSettings& settings) {
    if (shows_credentials(settings)) {
      log::warning("MLflow at " + settings.shown +
                   ": the credentials go over the network as they are, which others can read: use https");
    }
    const auto last_moment = std::make_shared<LastMoment>();
    auto server = make_mlflow_server(settings, last_moment);
    const std::filesystem::path run = std::filesystem::absolute(inputs.paths.root).lexically_normal();
    MlflowJob job{.state = inputs.paths.mlflow_json(),
                  .run_name = (run.has_filename() ? run : run.parent_path()).filename().string(),
                  .user = inputs.variable("USER").value_or(""),
                  .begun_s = begun_s_,
                  .params = mlflow_params(inputs.config),
                  .tags = {{"skyline.version", inputs.version},
                           {"skyline.run_folder", run.string()},
                           {"mlflow.source.name", "skyline"}}};
    add_thread(inputs, std::make_unique<MlflowSink>(settings, std::move(server), std::move(job)),
               last_moment);
  }

  void keep_front(const trial::CommittedTrial& committed, const run::RunState& state) {
    const trial::Trial& trial = committed.trial;
    if (trial.is_final()) return;
    if (state.on_front(trial.number)) front_ids_[trial.number] = trial.architecture().id;
    for (const trial::TrialNumber number : state.left_behind()) front_ids_.erase(number);
  }

  double begun_s_;
  std::map<trial::TrialNumber, space::ArchId> front_ids_;  // ids of the front's members
  std::vector<std::unique_ptr<MetricThread>> threads_;
};

}  // namespace

std::unique_ptr<RunTracking> start_tracking(const TrackingInputs& inputs) {
  return std::make_unique<Tracking>(inputs);
}

}  // namespace skyline::report
