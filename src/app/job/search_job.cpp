#include "app/job/search_job.hpp"

#include "skyline/core/error.hpp"
#include "skyline/core/exit_code.hpp"

#include "app/job/front_latency.hpp"
#include "app/job/program_build.hpp"
#include "app/job/run_results.hpp"
#include "app/job/stop_request.hpp"
#include "app/models/taken_model.hpp"
#include "core/config/config_text.hpp"
#include "core/log.hpp"
#include "core/system/process.hpp"
#include "core/text/wording.hpp"
#include "report/files/answers.hpp"
#include "report/files/trial_results.hpp"
#include "report/report.hpp"
#include "report/text/front_table.hpp"
#include "report/text/progress.hpp"
#include "report/tracking/tracking.hpp"
#include "run/baselines.hpp"
#include "store/publish/publish.hpp"
#include "store/run_folder/fresh_folder.hpp"

#include <string>
#include <utility>
#include <vector>

#include <unistd.h>

namespace skyline::app {
namespace {

/// Ends the job at the next tick if the claim on the run folder is lost.
class ClaimCheck final : public run::RunListener {
 public:
  ClaimCheck(const store::RunClaim& claim, report::RunTracking& tracking)
      : claim_(claim), tracking_(tracking) {}
  void tick(const run::RunState& /*state*/) override {
    try {
      claim_.check();
    } catch (const Problem&) {
      tracking_.abandon();  // the new owner of the folder continues the tracking, too
      throw;
    }
  }

 private:
  const store::RunClaim& claim_;
  report::RunTracking& tracking_;
};

/// Publishes this job's configuration once it is known that the run is the same.
class ConfigChange final : public run::RunListener {
 public:
  ConfigChange(const engine::RunFiles& files, const ConfigNode& config, std::size_t replayed)
      : files_(files), config_(config), replayed_(replayed) {}
  void committed(const run::Commit& commit, const run::RunState& state) override {
    if (!commit.replayed || state.replayed() != replayed_) return;
    files_.storage.post(
        [paths = files_.paths, text = to_yaml(config_)] { store::publish_config(paths, text); });
  }

 private:
  const engine::RunFiles& files_;
  const ConfigNode& config_;
  const std::size_t replayed_;  // number of trials in the journal
};

/// Writes results when a job stops. If they cannot be written now, the job still ends normally.
void try_to_write_results(const run::OpenedRun& run) {
  try {
    write_results(run, "stopped", [] { return false; });
  } catch (const Problem& problem) {
    log::warning(std::string(problem.what()) + "; the results in " + run.paths.root.string() +
                 " are out of date");
  }
}

/// Prints the last line of a job that stopped early.
void print_stop(const engine::RunResult& result, const std::string& cause, bool checkpoints) {
  std::string saved = ", everything is saved";
  if (!checkpoints) {
    saved = ", running trials were not saved (checkpoint: none)";
  } else if (result.unsaved > 0) {
    saved = "; the state of " + counted(result.unsaved, "running trial") +
            " could not be saved (see the log), what is not in a checkpoint is done again";
  } else if (result.begin_again > 0) {
    const bool one = result.begin_again == 1;
    saved = ", all results are saved; " + counted(result.begin_again, "trial") +
            (one ? " that was running begins again" : " that were running begin again");
  }
  print_end("stopped " + cause + " after " + std::to_string(result.state.trials().size()) + " of about " +
            counted(result.state.expected(trial::Phase::kSearch), "trial") + saved + retired_text(result) +
            ": run again with --resume" + failures_text(result.state));
}

/// Returns why a run ends without a front, or without a final one; empty if it has both.
std::string missing_front(const report::ReportInputs& outputs) {
  if (outputs.state.front().size() == 0) return "there is no front: " + report::no_front_reason(outputs);
  if (outputs.state.final_budget() && outputs.state.final_front().size() == 0)
    return "there is no final front: " + report::no_final_front_reason(outputs);
  return {};
}

/// Exports the front. A front that cannot be exported is still a result.
void export_front(const store::RunPaths& paths, const std::vector<model_export::Format>& formats) {
  try {
    if (formats.empty()) return;
    const ModelSource source = ModelSource::open(paths.root);
    const ModelChoice choice{.run = paths.root, .trials = {}, .front = true, .weights = {}};
    bool any = false;
    const auto missing = take_models(source, choice, [&](const TakenModel& model) {
      any = true;
      for (const model_export::Format format : formats) {
        export_model(source, model, format, paths.exports(), true);
      }
    });
    for (const std::string& line : missing) log::warning("not exported: " + line);
    if (!any) return;
    tell("skyline: the front is exported to " + paths.exports().string() + "\n");
  } catch (const Problem& problem) {
    log::warning(std::string("the front is not exported: ") + problem.what());
  }
}

}  // namespace

int search_as_coordinator(comm::Environment& environment, const engine::SearchTask& task,
                          const engine::RunFiles& files, engine::JobCallbacks end, PreparedRun& prepared,
                          const RunConfig& config, bool quiet, StopRequest& stop) {
  const bool terminal = !quiet && isatty(STDERR_FILENO) == 1;
  const std::vector<trial::Metric>& metrics = files.header.metrics;
  const std::size_t replayed = prepared.replay ? prepared.replay->entries.size() : 0;
  const auto tracking = report::start_tracking({.paths = files.paths,
                                                .objectives = config.objectives,
                                                .metrics = metrics,
                                                .replayed = replayed,
                                                .events = config.sections.run.events});
  if (process_variable("MLFLOW_TRACKING_URI")) {
    log::info("MLflow gets this run's metrics by `python3 -m skyline.mlflow " + files.paths.root.string() +
              " --follow` (docs/clusters.md)");
  }
  report::Progress progress(files.paths, config.space, metrics, report::system_console(terminal));
  ClaimCheck claim(*prepared.claim, *tracking);
  ConfigChange change(files, config.resolved, replayed);
  const auto opened = [&](const run::RunState& state, const run::RunAccount& account) {
    std::vector<run::SlotAccount> slots = account.slots;
    for (run::SlotAccount& slot : slots) {
      slot.processor = prepared.processors.at(static_cast<std::size_t>(slot.rank));
      slot.program = joined(program_parts());
    }
    return run::OpenedRun{files.paths,  config.resolved, config.space,
                          files.header, state,           run::with_job(prepared.earlier, std::move(slots))};
  };
  ResultsWriter writer(
      [&](const run::RunState& state, const run::RunAccount& account, const std::stop_token& ends) {
        if (state.replayed() == replayed) {  // otherwise the results on disk are newer
          write_results(opened(state, account), "running", [&] { return ends.stop_requested(); });
        }
      });
  end.failed = [&, failed = end.failed](const std::exception& error) {
    const std::optional<engine::Hang> hang = end.hang();
    const auto how = hang && hang->stops ? report::RunEnd::kStopped : report::RunEnd::kFailed;
    if (!hang || !hang->of_this_rank) {  // else another rank tells how the job ends
      progress.ended(how);
      tracking->ended(how);
    }
    failed(error);
  };
  const engine::RunResult result = engine::run_job(environment, task, files, end, std::move(prepared.replay),
                                                   {&progress, tracking.get(), &claim, &change, &writer});
  prepared.progress = result.progress;
  writer.finish();
  if (!result.stopped && !task.options.coordinator_only) {  // else this rank's machine may be another one
    measure_front(task.evaluator, result.state, files.paths, [&] { return stop.requested(); });
  }
  log::info("writing results");
  const report::ReportInputs outputs{config.space,
                                     metrics,
                                     result.state,
                                     run::baselines_of(config.resolved),
                                     report::taken_trials(config.resolved),
                                     report::read_latencies(files.paths),
                                     report::replicates_in(report::read_answers(files.paths, result.state))};
  if (result.stopped) {
    progress.ended(report::RunEnd::kStopped);
    if (result.state.replayed() == replayed) try_to_write_results(opened(result.state, result.account));
    print_stop(result, stop.cause(), config.sections.checkpoint.has_value());
    tracking->ended(report::RunEnd::kStopped);
    return kExitStopped;
  }
  if (!write_results(opened(result.state, result.account), "finished", [&] { return stop.requested(); })) {
    progress.ended(report::RunEnd::kStopped);
    print_end("stopped " + stop.cause() +
              " while the results were written: all trials are saved, run again with --resume");
    tracking->ended(report::RunEnd::kStopped);
    return kExitStopped;
  }
  progress.ended(report::RunEnd::kFinished);  // tells `skyline status` that the results are on disk
  warn_of_lost_weights(files.paths, config, result.state);
  print_results(files.paths, outputs, result);
  if (config.sections.final_training) export_front(files.paths, config.sections.final_training->exports);
  tracking->ended(report::RunEnd::kFinished);
  const std::string missing = missing_front(outputs);
  if (missing.empty() && !result.gave_up) return kExitDone;
  print_error(missing.empty() ? "the search gave up: " + result.finish_reason + failures_text(result.state)
                              : missing);
  return kExitNoFront;
}

}  // namespace skyline::app
