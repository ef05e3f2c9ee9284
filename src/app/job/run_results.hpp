#pragma once

#include "app/config/run_config.hpp"
#include "engine/engine_job.hpp"
#include "report/files/trial_results.hpp"
#include "report/text/front_table.hpp"
#include "run/opened_run.hpp"
#include "run/run_state.hpp"
#include "store/run_folder/run_folder.hpp"

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>

namespace skyline::app {

/// Publishes report::kResultFiles for the trials so far. Returns false if it ended before all were written.
/// @throws UserError, FaultError
/// @param state  state of the run, for its report
/// @param ends  whether to write no further file
bool write_results(run::OpenedRun opened, const std::string& state, const std::function<bool()>& ends);

/// Returns the fronts with their volumes, and the account of time if there is one.
std::string results_text(const report::ReportInputs& inputs, const run::RunAccount& account,
                         const report::TableBounds& bounds);
/// Returns "; trials failed most often as ..." with the usual reason, for the last line of a search; empty if
/// none has failed.
std::string failures_text(const run::RunState& state);
/// Returns the bounds of tables on standard output about the run of a folder.
report::TableBounds output_bounds(const store::RunPaths& paths);

/// Returns the clause of the job's last line about hosts that were given no more trials because they failed;
/// empty if there are none.
std::string retired_text(const engine::RunResult& result);

/// Prints the results and a last line about the run to standard output.
/// @param next  what can be done next (next_steps), above the last line; may be empty
void print_results(const store::RunPaths& paths, const report::ReportInputs& inputs,
                   const engine::RunResult& result, const std::string& next);

/// Warns about weights of front members that should have been kept and are missing or damaged.
void warn_of_lost_weights(const store::RunPaths& paths, const RunConfig& config, const run::RunState& state);

/// Keeps the results of a long run up to date on disk, from its own thread: every few minutes, and so seldom
/// that the thread writes in at most 1 % of the time. A failure is logged as a warning, and the next try
/// comes with the next interval.
class ResultsWriter final : public run::RunListener {
 public:
  using Clock = std::chrono::steady_clock;
  using Seconds = std::chrono::duration<double>;
  /// Writes everything that follows from the commits of a state, until `end` asks it to end.
  using Write = std::function<void(const run::RunState& state, const run::RunAccount& account,
                                   const std::stop_token& end)>;

  /// @param interval  least time between two writings
  explicit ResultsWriter(Write write, Seconds interval = std::chrono::minutes(2));
  ResultsWriter(const ResultsWriter&) = delete;
  ResultsWriter& operator=(const ResultsWriter&) = delete;

  void started(const run::RunState& state) override;
  void committed(const run::Commit& /*commit*/, const run::RunState& /*state*/) override { news_ = true; }
  void tick(const run::RunState& state) override;
  /// Asks the current writing to end, and waits for that; nothing is written after that.
  void finish();

 private:
  void work(const std::stop_token& end);

  const Write write_;
  const Seconds interval_;
  Clock::time_point started_ = Clock::now();
  bool news_ = false;  // commits came since the last writing began
  std::mutex mutex_;   // guards the members below
  std::condition_variable_any changed_;
  bool due_ = false;
  run::RunState state_;  // copied while writing is due; used by the thread only
  run::RunAccount account_;
  Clock::time_point next_;  // earliest time of the next writing
  std::jthread thread_;     // the last member, because its thread uses the others
};

/// Returns what a person can do next with a finished run: a table of at most ten lines, with commands to
/// copy. A command stands there only if it suits the run. Empty without a front.
/// @param columns  columns of the terminal: where it is too narrow, the commands stand alone
std::string next_steps(const store::RunPaths& paths, const RunConfig& config, const run::RunState& state,
                       std::size_t columns);

}  // namespace skyline::app
