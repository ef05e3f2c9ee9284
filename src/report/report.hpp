#pragma once

#include "skyline/space/search_space.hpp"

#include "run/run_state.hpp"
#include "store/run_folder/run_folder.hpp"

#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace skyline::report {

/// The source of all reports.
struct ReportInputs {
  const space::SearchSpace& space;
  const std::vector<trial::Metric>& metrics;  // of Measurements::values
  const run::RunState& state;
};

/// The front of the search as a JSON list: `search_front` of pareto.json.
std::string front_json(const store::RunPaths& paths, const ReportInputs& inputs);
/// pareto.json: the final front and that of the search; models.json: every trial; both with architecture,
/// objectives, constraints, budget, seed, status. search_state.csv: one row per search trial, with the
/// columns that Archai writes, then parameters and costs. Published whole. @throws UserError
void write_pareto_json(const store::RunPaths& paths, const ReportInputs& inputs);
void write_models_json(const store::RunPaths& paths, const ReportInputs& inputs);
void write_search_state_csv(const store::RunPaths& paths, const ReportInputs& inputs);

/// A number for people, four significant digits, SI prefixes from 1000 on: `0.9812`, `465.2 M`.
std::string format_number(double value);

/// Table of the front of the search, best first objective first, its first `most` rows alone. Once there are
/// full trainings: of the final front, with the accuracy on the test set; then the other members of the
/// search's front, and why they are not on it. The heading tells the budget of each column.
std::string front_table(const ReportInputs& inputs,
                        std::size_t most = std::numeric_limits<std::size_t>::max());
/// Of architectures that were trained in full with several seeds: mean and standard deviation of what was
/// measured, best first objective first, with a line above; empty: there are none.
std::string seeds_table(const ReportInputs& inputs);
/// How large the fronts' hypervolumes are and from where they are measured, or why they have none; one line.
std::string volume_text(const run::RunState& state);
/// Why the front of the search is empty, one clause. @pre it is
std::string no_front_reason(const ReportInputs& inputs);
/// Why the final front is empty, one clause. @pre it is, and there are full trainings
std::string no_final_front_reason(const ReportInputs& inputs);
/// Account of time: a row per slot and the sum: trials, set-up, training, validation, latency, idle,
/// utilization. More than 16 slots: per node. Several jobs: per job.
std::string account_table(const run::RunAccount& account);

/// What the slots of a run did when, in the trace format of Chrome, which https://ui.perfetto.dev and
/// chrome://tracing show: a process for each rank, a thread for each slot, a slice for each committed trial,
/// and below it a slice for each part of its time. The parts stand one after the other, each with its sum.
/// Between the trials a slot waited, or worked for a trial of another rank.
/// @param account      of the run, for the names of its hosts
/// @param most_trials  with a slice of their own; in larger runs neighbours on a slot share one
std::string trace_json(const run::RunState& state, const run::RunAccount& account,
                       std::size_t most_trials = 30'000);

enum class RunEnd { kFinished, kStopped, kFailed };

/// The output of `skyline status RUN`, from status.json, the claim, the journal and the slots' tables alone;
/// works while the run goes on. @throws UserError if RUN is no run folder
std::string status_text(const store::RunPaths& paths);
/// The same as one line of JSON: status.json, and `run`, `running`, `host`, `process`, `journal` (its
/// trials), `training` (what each slot trains) and `front_trials`. @param front  front_json
std::string status_json(const store::RunPaths& paths, const std::string& front);
/// The progress in one line, with the trials that are trained.
std::string status_line(const store::RunPaths& paths);
/// The exit code of the last job; nothing if it was killed, or runs.
std::optional<int> last_exit_code(const store::RunPaths& paths);

}  // namespace skyline::report
