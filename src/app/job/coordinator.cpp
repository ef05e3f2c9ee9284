#include "skyline/core/error.hpp"
#include "skyline/trial/evaluator.hpp"

#include "app/job/program_build.hpp"
#include "app/job/run_plan.hpp"
#include "app/job/run_results.hpp"
#include "app/models/exported_files.hpp"
#include "app/models/selected_model.hpp"
#include "core/backoff.hpp"
#include "core/config/config_text.hpp"
#include "core/log.hpp"
#include "core/system/process.hpp"
#include "core/system/standard_output.hpp"
#include "core/text/wording.hpp"
#include "report/files/answers.hpp"
#include "report/files/trial_results.hpp"
#include "report/text/front_table.hpp"
#include "report/text/progress.hpp"
#include "report/tracking/tracking.hpp"
#include "run/opened_run.hpp"
#include "run/run_state.hpp"
#include "store/publish/publish.hpp"
#include "store/run_folder/run_folder.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <unistd.h>

namespace skyline::app {
namespace {

constexpr std::size_t kMostMembers = 60;
constexpr std::size_t kRounds = 5;
constexpr double kLongEnough_s = 20;  // after which no further round begins

std::vector<report::FrontLatency> measure(trial::Evaluator& evaluator,
                                          const std::vector<trial::Trial>& trials,
                                          const std::function<bool()>& ends) {
  std::vector<report::FrontLatency> latencies;
  for (const trial::Trial& trial : trials) latencies.push_back({trial.number, {}});
  const auto start = std::chrono::steady_clock::now();
  for (std::size_t round = 0; round < kRounds && !ends(); ++round) {
    if (round > 0 && seconds_since(start) > kLongEnough_s) break;
    const std::vector<double> found = evaluator.latencies_ms(trials);
    if (found.empty()) return {};
    for (std::size_t i = 0; i < trials.size(); ++i) latencies[i].rounds_ms.push_back(found[i]);
  }
  if (trials.empty() || latencies.front().rounds_ms.empty()) return {};
  return latencies;
}

/// Measures the latency of the front that counts when the run is done, in rounds over its members, and writes
/// RUN/latency.json. Does nothing if the run measures no latency, or the file has the front already. A
/// failure is logged as a warning. @pre no trial runs on this rank
/// @param ends  whether to begin no further round
void measure_front(trial::Evaluator& evaluator, const run::RunState& state, const store::RunPaths& paths,
                   const std::function<bool()>& ends) {
  std::vector<trial::TrialNumber> members =
      report::front_order(state.final_budget() ? state.final_front() : state.front());
  members.resize(std::min(members.size(), kMostMembers));
  try {
    const auto earlier = report::read_latencies(paths);
    const bool is_whole = !earlier.empty() && earlier.front().rounds_ms.size() == kRounds;
    if (is_whole && std::ranges::equal(earlier, members, {}, &report::FrontLatency::trial)) return;
    std::vector<trial::Trial> trials;
    for (const trial::TrialNumber number : members) trials.push_back(state.search_trial(number)->trial);
    const auto latencies = measure(evaluator, trials, ends);
    if (latencies.empty()) return;
    report::write_latencies(paths, latencies);
    log::info("measured the latency of " + counted(latencies.size(), "network") + " once more");
  } catch (const std::exception& problem) {
    log::warning(std::string("the latency of the front is not measured again: ") + problem.what());
  }
}

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
    ExportChoice exports{.formats = formats, .folder = paths.exports()};
    if (exports.has_int8())
      exports.calibration = draw_calibration(source, {.option = "final.export", .file_option = "data.file"});
    bool any = false;
    std::vector<std::string> refused;
    auto missing = select_models(source, choice, [&](const SelectedModel& model) {
      const ExportedFiles exported = export_model(source, model, exports);
      any = any || !exported.paths.empty();
      refused.insert(refused.end(), exported.refused.begin(), exported.refused.end());
    });
    missing.insert(missing.end(), refused.begin(), refused.end());
    for (const std::string& line : missing) log::warning("not exported: " + line);
    if (!any) return;
    tell("skyline: the front is exported to " + paths.exports().string() + "\n");
  } catch (const Problem& problem) {
    log::warning(std::string("the front is not exported: ") + problem.what());
  }
}

/// Rank 0's part of a job.
class Coordinator final : public run::RunListener {
 public:
  Coordinator(const engine::SearchTask& task, const engine::RunFiles& files, RunPlan& plan, bool quiet,
              const StopRequest& stop)
      : task_(task),
        files_(files),
        plan_(plan),
        stop_(stop),
        quiet_(quiet),
        progress_(files.paths, config_.space, files.header.metrics,
                  report::system_console(!quiet && isatty(STDERR_FILENO) == 1)) {}
  engine::RunResult search(comm::Environment& environment, engine::JobCallbacks callbacks);
  int end(const engine::RunResult& result);
  void committed(const run::Commit& commit, const run::RunState& state) override;
  void tick(const run::RunState& state) override;

 private:
  run::OpenedRun opened(const run::RunState& state, const run::RunAccount& account) const;

  const engine::SearchTask& task_;
  const engine::RunFiles& files_;
  RunPlan& plan_;
  const StopRequest& stop_;
  const bool quiet_;  // only warnings and the result go to the terminal
  const RunConfig& config_ = plan_.config;
  const std::size_t replayed_ = plan_.replay ? plan_.replay->entries.size() : 0;  // trials in the journal
  const std::unique_ptr<report::RunTracking> tracking_ =
      report::start_tracking({.paths = files_.paths,
                              .objectives = config_.objectives,
                              .metrics = files_.header.metrics,
                              .replayed = replayed_,
                              .events = config_.sections.run.events});
  report::Progress progress_;
  ResultsWriter writer_{
      [this](const run::RunState& state, const run::RunAccount& account, const std::stop_token& ends) {
        if (state.replayed() == replayed_) {  // otherwise the results on disk are newer
          write_results(opened(state, account), "running", [&] { return ends.stop_requested(); });
        }
      }};
};

/// Publishes this job's configuration once it is known that the run is the same.
void Coordinator::committed(const run::Commit& commit, const run::RunState& state) {
  if (!commit.replayed || state.replayed() != replayed_) return;
  files_.storage.post(
      [paths = files_.paths, text = to_yaml(config_.resolved)] { store::publish_config(paths, text); });
}

/// Ends the job if the claim on the run folder is lost.
void Coordinator::tick(const run::RunState& /*state*/) {
  try {
    plan_.claim->check();
  } catch (const Problem&) {
    tracking_->abandon();  // the new owner of the folder continues the tracking, too
    throw;
  }
}

run::OpenedRun Coordinator::opened(const run::RunState& state, const run::RunAccount& account) const {
  std::vector<run::SlotAccount> slots = account.slots;
  for (run::SlotAccount& slot : slots) {
    slot.processor = plan_.processors.at(static_cast<std::size_t>(slot.rank));
    slot.program = joined(program_parts());
  }
  return {files_.paths,  config_.resolved,
          config_.space, files_.header,
          state,         run::with_job(plan_.earlier, std::move(slots))};
}

engine::RunResult Coordinator::search(comm::Environment& environment, engine::JobCallbacks callbacks) {
  if (process_variable("MLFLOW_TRACKING_URI")) {
    log::info("MLflow gets this run's metrics by `python3 -m skyline.mlflow " + files_.paths.root.string() +
              " --follow` (docs/clusters.md)");
  }
  callbacks.failed = [&, failed = callbacks.failed](const std::exception& error) {
    const std::optional<engine::Hang> hang = callbacks.hang();
    const auto how = hang && hang->stops ? report::RunEnd::kStopped : report::RunEnd::kFailed;
    if (!hang || !hang->of_this_rank) {  // else another rank tells how the job ends
      progress_.ended(how);
      tracking_->ended(how);
    }
    failed(error);
  };
  std::vector<run::RunListener*> listeners{&progress_, tracking_.get(), this, &writer_};
  return engine::run_job(environment, task_, files_, callbacks, std::move(plan_.replay), listeners);
}

/// Ends with the results. Returns the exit code.
int Coordinator::end(const engine::RunResult& result) {
  writer_.finish();
  const auto stop_requested = [this] { return stop_.requested(); };
  if (!result.stopped && !task_.options.coordinator_only)  // else this rank's machine may be another one
    measure_front(task_.evaluator, result.state, files_.paths, stop_requested);
  log::info("writing results");
  if (result.stopped || !write_results(opened(result.state, result.account), "finished", stop_requested)) {
    progress_.ended(report::RunEnd::kStopped);
    if (!result.stopped) {
      print_end("stopped " + stop_.cause() +
                " while the results were written: all trials are saved, run again with --resume");
    } else {
      if (result.state.replayed() == replayed_) try_to_write_results(opened(result.state, result.account));
      print_stop(result, stop_.cause(), config_.sections.checkpoint.has_value());
    }
    tracking_->ended(report::RunEnd::kStopped);
    return kExitStopped;
  }
  progress_.ended(report::RunEnd::kFinished);  // tells `skyline status` that the results are on disk
  warn_of_lost_weights(files_.paths, config_, result.state);
  const report::ReportInputs outputs{config_.space,
                                     files_.header.metrics,
                                     result.state,
                                     run::baselines_of(config_.resolved),
                                     report::source_trials(config_.resolved),
                                     report::read_latencies(files_.paths),
                                     report::replicates_in(report::read_answers(files_.paths, result.state)),
                                     config_.evaluator.needs.seeded};
  const std::string next = quiet_ ? "" : next_steps(files_.paths, config_, result.state, output_columns());
  print_results(files_.paths, outputs, result, next);
  if (config_.sections.final_training) export_front(files_.paths, config_.sections.final_training->exports);
  tracking_->ended(report::RunEnd::kFinished);
  const std::string missing = missing_front(outputs);
  if (missing.empty() && !result.gave_up) return kExitDone;
  const bool is_empty = result.state.trials().size() == 0;
  print_error(missing.empty() ? "the search gave up: " + result.finish_reason + failures_text(result.state)
                              : missing + (is_empty ? ": " + result.finish_reason : ""));
  return kExitNoFront;
}

}  // namespace

report::JobEnding coordinate(comm::Environment& environment, const engine::SearchTask& task,
                             const engine::RunFiles& files, const engine::JobCallbacks& callbacks,
                             RunPlan& plan, bool quiet, const StopRequest& stop) {
  Coordinator coordinator(task, files, plan, quiet, stop);
  const engine::RunResult result = coordinator.search(environment, callbacks);
  const int code = coordinator.end(result);
  return {.exit_code = code, .progress = code != kExitStopped || result.progress};
}

}  // namespace skyline::app
