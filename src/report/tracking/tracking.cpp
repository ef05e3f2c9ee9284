#include "report/tracking/tracking.hpp"

#include "skyline/core/error.hpp"
#include "skyline/core/exit_code.hpp"

#include "core/background_queue.hpp"
#include "core/backoff.hpp"
#include "core/log.hpp"
#include "core/text/wording.hpp"
#include "report/files/trial_results.hpp"
#include "report/tracking/event_file.hpp"
#include "store/journal/learning_curves.hpp"
#include "store/publish/publish.hpp"
#include "trial/refit.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace skyline::report {
namespace {

/// Returns the size of the largest front whose exact volume is computed at each change: for 3 objectives that
/// takes 10 ms of rank 0's time. pareto.json has the volume at the end.
std::size_t largest_front(std::size_t num_objectives) {
  if (num_objectives < 3) return std::numeric_limits<std::size_t>::max();
  return num_objectives == 3 ? 300 : 100;
}

using Values = std::vector<NamedValue>;

void add(Values& values, std::string name, double value) {
  if (std::isfinite(value)) values.push_back({std::move(name), value});
}

std::vector<std::string> metrics_shown(const objective::ObjectiveSet& objectives,
                                       const std::vector<trial::Metric>& metrics) {
  std::vector<std::string> names = trial::names_of(metrics);
  const auto add_name = [&](const std::string& name) {
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  };
  for (const auto& objective : objectives.objectives()) add_name(objective.metric);
  for (const auto& constraint : objectives.constraints()) add_name(constraint.metric);
  return names;
}

constexpr std::size_t kMostWaiting = 100'000;  // trials of this job
constexpr std::size_t kMostInOneWrite = 1'000;

std::chrono::seconds bound_of(RunEnd end) {
  constexpr std::array<int, 3> kSeconds{10, 3, 2};  // finished, stopped, failed
  return std::chrono::seconds(kSeconds.at(static_cast<std::size_t>(end)));
}

/// Writes metrics as TensorBoard's event files. Each job writes its own, which begins with the first trial
/// that those of earlier jobs lack: a killed job has not written its last seconds. One thread calls expect()
/// and close(), another one add() and write().
class EventWriter {
 public:
  EventWriter(const TrackingInputs& inputs, double begun_s)
      : file_(inputs.paths.events(), begun_s),
        metrics_(inputs.objectives, inputs.metrics),
        replayed_(inputs.replayed) {}

  std::string name() const { return "event file " + file_.path().string(); }
  /// Counts a trial that will be added, or will not.
  void expect(bool comes = true) { unwritten_ += comes ? 1 : -1; }
  /// Takes the next trial, and writes it unless others follow at once.
  void add(const TrackedTrial& trial) {
    if (closed_) return;
    trials_.push_back(trial);
    ++taken_;
    if (std::cmp_equal(unwritten_.load(), taken_) || trials_.size() >= kMostInOneWrite) write();
  }
  /// Writes what was added. What a fault keeps from the file is written with a later trial.
  void write();
  /// Writes nothing more.
  void close() { closed_ = true; }
  /// Returns the number of expected trials that are not in the file.
  std::int64_t unwritten() const { return unwritten_; }

 private:
  EventFile file_;
  RunMetrics metrics_;
  std::uint64_t replayed_;                     // number of trials of earlier jobs
  std::optional<std::uint64_t> first_wanted_;  // step; unset before the first write
  std::vector<TrackedTrial> trials_;
  std::vector<MetricRecord> records_;  // trials that have left trials_, and are not in the file
  std::size_t taken_ = 0;              // trials of both
  bool fails_ = false;
  std::atomic<bool> closed_ = false;
  std::atomic<std::int64_t> unwritten_ = 0;
};

void EventWriter::write() {
  if (closed_) return;
  try {
    if (!first_wanted_)
      first_wanted_ = std::min(replayed_, first_step_without_event(file_.path().parent_path()));
    for (const TrackedTrial& trial : trials_) {
      if (trial.trial->position >= *first_wanted_) records_.push_back(metrics_.record(trial));
    }
    trials_.clear();
    if (!records_.empty()) file_.add(records_);
  } catch (const std::exception& problem) {
    if (!std::exchange(fails_, true))
      log::warning(
          fmt::format("{}; the run goes on, this is tried again with the next trial", error_text(problem)));
    return;
  }
  records_.clear();
  unwritten_ -= static_cast<std::int64_t>(std::exchange(taken_, 0));
  if (std::exchange(fails_, false)) log::info(name() + ": works again");
}

class Tracking final : public RunTracking {
 public:
  explicit Tracking(const TrackingInputs& inputs) : begun_s_(unix_now_s()) {
    if (!inputs.events) return;
    try {
      writer_ = std::make_shared<EventWriter>(inputs, begun_s_);
      queue_ = std::make_unique<BackgroundQueue>(kMostWaiting);
    } catch (const std::exception& problem) {  // e.g. no thread can be started: the run goes on
      log::warning(fmt::format("{}; the run goes on without event files", error_text(problem)));
    }
  }
  ~Tracking() override { ended(RunEnd::kFailed); }
  Tracking(const Tracking&) = delete;
  Tracking& operator=(const Tracking&) = delete;

  void committed(const run::Commit& commit, const run::RunState& state) override;
  void ended(RunEnd end) override;
  void abandon() override {
    if (!queue_) return;
    writer_->close();
    queue_.reset();
  }

 private:
  double begun_s_;
  std::shared_ptr<EventWriter> writer_;     // shared with the jobs: a write that hangs outlives this
  std::unique_ptr<BackgroundQueue> queue_;  // nullptr without event files, and after the end
  bool full_ = false;  // further trials are left out, so that the added ones have no gaps
};

void Tracking::committed(const run::Commit& commit, const run::RunState& state) {
  if (!queue_ || full_) return;
  const TrackedTrial trial(commit, state, commit.replayed ? begun_s_ : unix_now_s());
  const auto add = [writer = writer_, trial] { writer->add(trial); };
  writer_->expect();
  if (commit.replayed) return queue_->post(add);  // only trials of this job are limited
  full_ = !queue_->try_add(add);
  if (!full_) return;
  writer_->expect(false);
  log::warning(writer_->name() + ": too many trials wait, later ones are left to a job with --resume");
}

void Tracking::ended(RunEnd end) {
  if (!queue_) return;
  queue_->post([writer = writer_] { writer->write(); });
  const bool in_time = queue_->finish(bound_of(end));
  writer_->close();
  queue_.reset();
  if (writer_->unwritten() == 0) return;
  log::warning(fmt::format("{}: {}; {} were not written, a job with --resume adds them", writer_->name(),
                           in_time ? "cannot be written" : "no time is left",
                           counted(writer_->unwritten(), "trial")));
}

/// Returns the latest training of each name, those on a front first.
std::vector<run::SharedTrial> chosen_trials(const run::RunState& state) {
  std::map<trial::TrialName, run::SharedTrial> latest;
  for (const run::SharedTrial& committed : state.trials()) latest[committed->trial.name()] = committed;
  std::vector<run::SharedTrial> chosen;
  for (const auto& [name, committed] : latest) chosen.push_back(committed);
  std::ranges::stable_partition(chosen, [&](const run::SharedTrial& committed) {
    return state.on_front(committed->trial.number) || state.on_final_front(committed->trial.number);
  });
  return chosen;
}

std::vector<NamedParameter> parameters_of(const space::SearchSpace& space,
                                          const space::Architecture& architecture) {
  std::vector<NamedParameter> parameters;
  for (std::size_t p = 0; p < space.parameters().size(); ++p) {
    if (!architecture.used[p]) continue;
    const space::Parameter& parameter = space.parameters()[p];
    parameters.push_back({parameter.name, parameter.values.at(architecture.genotype.choices[p])});
  }
  return parameters;
}

/// Returns the points of a learning curve, and the results at its last step.
std::vector<MetricRecord> records_of(const store::LearningCurve& course, std::vector<NamedValue> results,
                                     double unix_s) {
  std::vector<MetricRecord> records;
  for (std::size_t point = 0; point < course.steps.size(); ++point) {
    MetricRecord& record = records.emplace_back(static_cast<std::uint64_t>(course.steps[point]), unix_s);
    for (const std::string& name : course.names) {
      const double value = course.value(point, name);
      if (std::isfinite(value)) record.values.push_back({"curve/" + name, value});
    }
  }
  records.emplace_back(records.empty() ? 0 : records.back().step, unix_s, std::move(results));
  return records;
}

}  // namespace

TrackedTrial::TrackedTrial(const run::Commit& commit, const run::RunState& state, double the_unix_s)
    : trial(commit.trial),
      replayed(commit.replayed),
      unix_s(the_unix_s),
      front_size(state.front().size()),
      front(state.points()),
      best(state.best()),
      failed(state.failed()),
      pruned(state.pruned()),
      outside(state.outside()) {}

RunMetrics::RunMetrics(objective::ObjectiveSet objectives, std::vector<trial::Metric> metrics)
    : objectives_(std::move(objectives)),
      metrics_(std::move(metrics)),
      shown_(metrics_shown(objectives_, metrics_)) {}

MetricRecord RunMetrics::record(const TrackedTrial& tracked) {
  if (tracked.front != measured_) measure_volume(tracked);
  measured_ = tracked.front;
  MetricRecord record{tracked.trial->position, tracked.unix_s, own_values(*tracked.trial)};
  Values& values = record.values;
  add(values, "front/size", static_cast<double>(tracked.front_size));
  if (tracked.front_size > 0 && measurable(tracked)) add(values, "front/hypervolume", volume_);
  for (std::size_t i = 0; i < tracked.best.size(); ++i) {
    add(values, "best/" + objectives_.objectives()[i].metric, tracked.best[i]);
  }
  add(values, "run/failed_trials", static_cast<double>(tracked.failed));
  if (tracked.pruned > 0) add(values, "run/pruned_trials", static_cast<double>(tracked.pruned));
  if (tracked.outside > 0) add(values, "run/outside_trials", static_cast<double>(tracked.outside));
  return record;
}

Values RunMetrics::own_values(const trial::CommittedTrial& committed) const {
  Values values;
  const std::string group = trial::is_refit(committed.trial) ? "refit/"
                            : committed.trial.is_final()     ? "final/"
                                                             : "trial/";
  for (const std::string& metric : shown_) {
    if (failure_of(committed) != nullptr) break;
    if (const auto value = metric_value(committed, metric, metrics_)) add(values, group + metric, *value);
  }
  add(values, group + "epochs", committed.trial.budget().epochs);
  add(values, group + "seconds", committed.timing.total_s());
  add(values, group + "training_seconds", committed.timing.train_s);
  return values;
}

bool RunMetrics::measurable(const TrackedTrial& tracked) const {
  return objectives_.has_volume() && tracked.front_size <= largest_front(objectives_.objectives().size());
}

/// The volume of a growing front is never lowered, whatever rounding gives.
void RunMetrics::measure_volume(const TrackedTrial& tracked) {
  if (!measurable(tracked)) return;
  volume_ = std::max(volume_, run::volume_of(objectives_, *tracked.front).value());
}

std::unique_ptr<RunTracking> start_tracking(const TrackingInputs& inputs) {
  return std::make_unique<Tracking>(inputs);
}

std::size_t write_trial_events(const run::OpenedRun& opened, const std::filesystem::path& folder) {
  const RunMetrics metrics(opened.state.objectives(), opened.header.metrics);
  const store::LearningCurves courses = store::read_courses(opened.paths, opened.header.metrics);
  const double now_s = unix_now_s();
  std::vector<run::SharedTrial> trials = chosen_trials(opened.state);
  const std::size_t written = std::min(trials.size(), kMostTrialFolders);
  for (std::size_t i = 0; i < written; ++i) {
    const trial::CommittedTrial& committed = *trials[i];
    const std::filesystem::path own = folder / to_text(committed.trial.name());
    std::error_code failure;
    std::filesystem::create_directory(own, failure);
    if (failure) throw UserError("cannot make " + own.string() + ": " + failure.message());
    const auto course = courses.find({committed.trial.name(), committed.timing.started_s});
    store::publish_text(EventFile(own, now_s).path(), [&](const store::WriteText& write) {
      write(event_file_start(now_s, 0));
      write(parameters_record(now_s, parameters_of(opened.space, committed.trial.architecture())));
      for (const MetricRecord& record :
           records_of(course == courses.end() ? store::LearningCurve() : course->second,
                      metrics.own_values(committed), now_s)) {
        write(event_record(record));
      }
    });
  }
  return trials.size() - written;
}

}  // namespace skyline::report
