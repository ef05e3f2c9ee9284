#pragma once

#include "run/account.hpp"
#include "run/opened_run.hpp"
#include "run/run_state.hpp"

#include <cstddef>
#include <limits>
#include <string>

namespace skyline::report {

/// Account of time: a row per slot, and the sum: trials, set-up, training, validation, latency, idle,
/// utilization. With more than 16 slots, a row per node; with several jobs, a row per job.
/// @param columns  width of the text, for which columns that say little are left out
std::string account_table(const run::RunAccount& account,
                          std::size_t columns = std::numeric_limits<std::size_t>::max());

/// Returns what the slots of a run did when, in the trace format of Chrome, which https://ui.perfetto.dev and
/// chrome://tracing show. There is a process per rank, a thread per slot, a slice per committed trial, and
/// below it a slice per part of its time. The parts follow each other, each with its sum. Between the trials
/// a slot waited, or worked for a trial of another rank.
/// @param account      account of the run, for the names of its hosts
/// @param most_trials  most trials with a slice of their own; in larger runs neighbours on a slot share one
std::string trace_json(const run::RunState& state, const run::RunAccount& account,
                       std::size_t most_trials = 30'000);

// What made a run, and the command that makes it again, for those who cite it.

/// Returns the programs of all jobs, "0.1.0, commit 96ab6c3b0c1d, LibTorch 2.11.0, ...", each once; a version
/// alone where jobs have recorded nothing.
std::string programs_text(const run::OpenedRun& opened);
/// Returns the models of the processors of all jobs, each once; empty if jobs have recorded none.
std::string processors_text(const run::RunAccount& account);
/// Returns the command that makes the run again in another folder, with as many ranks as its last job had. It
/// is for the working folder in which the run was started.
std::string repeat_line(const run::OpenedRun& opened);

}  // namespace skyline::report
