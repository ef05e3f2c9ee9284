#pragma once

#include "run/account.hpp"
#include "run/run_state.hpp"

#include <cstddef>
#include <string>

namespace skyline::report {

/// Returns what the slots of a run did when, in the trace format of Chrome, which https://ui.perfetto.dev and
/// chrome://tracing show. There is a process per rank, a thread per slot, a slice per committed trial, and
/// below it a slice per part of its time. The parts follow each other, each with its sum. Between the trials
/// a slot waited, or worked for a trial of another rank.
/// @param account      account of the run, for the names of its hosts
/// @param most_trials  most trials with a slice of their own; in larger runs neighbours on a slot share one
std::string trace_json(const run::RunState& state, const run::RunAccount& account,
                       std::size_t most_trials = 30'000);

}  // namespace skyline::report
