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
  const std::vector<trial::Metric>& metrics;  // metrics of Measurements::values
  const run::RunState& state;
};

/// Returns the front of the search as a JSON list: `search_front` of pareto.json.
std::string front_json(const store::RunPaths& paths, const ReportInputs& inputs);
/// Writes pareto.json (the final front and the search's) and models.json (every trial), both with
/// architecture, objectives, constraints, budget, seed and status. Writes search_state.csv: one row per
/// search trial, with the columns that Archai writes, then parameters and costs. Each file is published
/// whole. @throws UserError
void write_pareto_json(const store::RunPaths& paths, const ReportInputs& inputs);
void write_models_json(const store::RunPaths& paths, const ReportInputs& inputs);
void write_search_state_csv(const store::RunPaths& paths, const ReportInputs& inputs);

/// Writes a number for people: four significant digits, SI prefixes from 1000 on: `0.9812`, `465.2 M`.
std::string format_number(double value);

/// Table of the front of the search, best first objective first, at most `most` rows. If there are full
/// trainings, it shows the final front with the accuracy on the test set, then the other members of the
/// search's front and why they are not on the final one. The heading names the budget of each column.
std::string front_table(const ReportInputs& inputs,
                        std::size_t most = std::numeric_limits<std::size_t>::max());
/// Table of the architectures that were trained in full with several seeds: mean and standard deviation of
/// what was measured, best first objective first, with a line above. Empty if there are none.
std::string seeds_table(const ReportInputs& inputs);
/// One line: how large the fronts' hypervolumes are and from where they are measured, or why they have none.
std::string volume_text(const run::RunState& state);
/// Returns why the front of the search is empty, as one clause. @pre it is empty
std::string no_front_reason(const ReportInputs& inputs);
/// Returns why the final front is empty, as one clause. @pre it is empty, and there are full trainings
std::string no_final_front_reason(const ReportInputs& inputs);
/// Account of time: a row per slot, and the sum: trials, set-up, training, validation, latency, idle,
/// utilization. With more than 16 slots, a row per node; with several jobs, a row per job.
std::string account_table(const run::RunAccount& account);

/// Returns what the slots of a run did when, in the trace format of Chrome, which https://ui.perfetto.dev and
/// chrome://tracing show. There is a process per rank, a thread per slot, a slice per committed trial, and
/// below it a slice per part of its time. The parts follow each other, each with its sum. Between the trials
/// a slot waited, or worked for a trial of another rank.
/// @param account      account of the run, for the names of its hosts
/// @param most_trials  most trials with a slice of their own; in larger runs neighbours on a slot share one
std::string trace_json(const run::RunState& state, const run::RunAccount& account,
                       std::size_t most_trials = 30'000);

enum class RunEnd { kFinished, kStopped, kFailed };

/// Returns the output of `skyline status RUN`, using only status.json, the claim, the journal and the slots'
/// tables, so it works while the run continues. @throws UserError if RUN is no run folder
std::string status_text(const store::RunPaths& paths);
/// Returns the state as one line of JSON: status.json, and `run`, `running`, `host`, `process`, `journal`
/// (its trials), `training` (what each slot trains) and `front_trials`. @param front  text of front_json
std::string status_json(const store::RunPaths& paths, const std::string& front);
/// Returns the progress in one line, with the trials that are being trained.
std::string status_line(const store::RunPaths& paths);
/// Returns the exit code of the last job, or nullopt if it was killed or is running.
std::optional<int> last_exit_code(const store::RunPaths& paths);

}  // namespace skyline::report
