#include "report/tracking/trial_events.hpp"

#include "skyline/core/error.hpp"

#include "report/tracking/run_metrics.hpp"
#include "store/events/event_file.hpp"
#include "store/journal/learning_curves.hpp"
#include "store/publish/publish.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace skyline::report {
namespace {

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

std::vector<store::NamedParameter> parameters_of(const space::SearchSpace& space,
                                                 const space::Architecture& architecture) {
  std::vector<store::NamedParameter> parameters;
  for (std::size_t p = 0; p < space.parameters().size(); ++p) {
    if (!architecture.used[p]) continue;
    const space::Parameter& parameter = space.parameters()[p];
    parameters.push_back({parameter.name, parameter.values.at(architecture.genotype.choices[p])});
  }
  return parameters;
}

/// Returns the points of a learning curve, and the results at its last step.
std::vector<store::MetricRecord> records_of(const store::LearningCurve& course,
                                            std::vector<store::NamedValue> results, double unix_s) {
  std::vector<store::MetricRecord> records;
  for (std::size_t point = 0; point < course.steps.size(); ++point) {
    store::MetricRecord& record =
        records.emplace_back(static_cast<std::uint64_t>(course.steps[point]), unix_s);
    for (const std::string& name : course.names) {
      const double value = course.value(point, name);
      if (std::isfinite(value)) record.values.push_back({"curve/" + name, value});
    }
  }
  records.emplace_back(records.empty() ? 0 : records.back().step, unix_s, std::move(results));
  return records;
}

}  // namespace

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
    store::publish_text(store::EventFile(own, now_s).path(), [&](const store::WriteText& write) {
      write(store::event_file_start(now_s, 0));
      write(store::parameters_record(now_s, parameters_of(opened.space, committed.trial.architecture())));
      for (const store::MetricRecord& record :
           records_of(course == courses.end() ? store::LearningCurve() : course->second,
                      metrics.own_values(committed), now_s)) {
        write(store::event_record(record));
      }
    });
  }
  return trials.size() - written;
}

}  // namespace skyline::report
