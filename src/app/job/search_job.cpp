#include "app/job/search_job.hpp"

#include "skyline/core/exit_code.hpp"

#include "app/job/job_abort.hpp"
#include "app/job/job_observer.hpp"
#include "app/job/run_results.hpp"
#include "report/report.hpp"
#include "report/tracking/tracking.hpp"

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <span>
#include <string>
#include <utility>
#include <variant>

#include <unistd.h>

namespace skyline::app {
namespace {

/// The last line of a job that stopped early.
void print_stop(const engine::RunResult& result, std::size_t expected, const std::string& cause,
                bool checkpoints) {
  std::string saved = ", everything is saved";
  if (!checkpoints) {
    saved = ", running trials were not saved (checkpoint: none)";
  } else if (result.unsaved > 0) {
    saved = "; the state of " + std::to_string(result.unsaved) + " running trial" +
            (result.unsaved == 1 ? "" : "s") +
            " could not be saved (see the log), what is not in a checkpoint is done again";
  }
  std::cout << "skyline: stopped " << cause << " after " << result.committed.size() << " of about "
            << expected << " trials" << saved << ": run again with --resume" << std::endl;
}

/// Says what is wrong with a run whose front is empty. @return  the exit code of a run that has ended
int judge_front(const engine::RunResult& result) {
  if (std::ranges::find(result.on_front, true) != result.on_front.end()) return kExitDone;
  const bool all_failed = std::ranges::all_of(result.committed, [](const trial::CommittedTrial& trial) {
    return std::holds_alternative<trial::Failure>(trial.outcome);
  });
  print_error(all_failed ? "there is no front: every trial failed (the log says why)"
                         : "there is no front: no trial meets the constraints");
  return kExitNoFront;
}

}  // namespace

int search_as_coordinator(engine::RunInputs inputs, PreparedRun prepared, const RunConfig& config, bool quiet,
                          JobStop& stop) {
  inputs.replay = std::move(prepared.replay);
  const bool terminal = !quiet && isatty(STDERR_FILENO) == 1;
  const std::vector<std::string> metrics = inputs.header.metrics;
  std::span<const trial::CommittedTrial> replayed;
  if (inputs.replay) replayed = inputs.replay->entries;
  const auto tracking =
      report::start_tracking({.paths = inputs.paths,
                              .objectives = config.objectives,
                              .metrics = metrics,
                              .replayed = replayed,
                              .config = config.resolved,
                              .events = config.sections.run.events,
                              .version = SKYLINE_VERSION,
                              .variable = [](const char* name) { return std::getenv(name); }});
  JobObserver observer(
      report::make_progress(inputs.paths, config.objectives, config.space, metrics, replayed, terminal),
      *tracking, *prepared.claim);
  inputs.failed = [&observer, &tracking, failed = inputs.failed](const std::exception& error) {
    observer.ended(report::RunEnd::kFailed);
    tracking->ended(report::RunEnd::kFailed);
    failed(error);
  };
  const engine::RunResult result = engine::run(inputs, observer);
  if (result.stopped) {
    observer.ended(report::RunEnd::kStopped);
    print_stop(result, observer.expected(), stop.cause(), config.sections.checkpoint.has_value());
    tracking->ended(report::RunEnd::kStopped);
    return kExitStopped;
  }
  const report::ReportInputs outputs{config.space, config.objectives, metrics, result.committed,
                                     result.on_front};
  write_results(inputs.paths, config, outputs);
  observer.ended(report::RunEnd::kFinished);  // for `skyline status`: the results are on disk
  warn_of_missing_weights(inputs.paths, config, result);
  print_results(inputs.paths, outputs, result);
  tracking->ended(report::RunEnd::kFinished);
  return judge_front(result);
}

}  // namespace skyline::app
