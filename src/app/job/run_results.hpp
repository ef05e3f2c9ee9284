#pragma once

#include "app/config/run_config.hpp"
#include "engine/loop/run.hpp"
#include "report/report.hpp"
#include "store/run_folder/run_folder.hpp"

namespace skyline::app {

/// Publishes what a run leaves beside its journal, for the trials so far: run.h5, models.json,
/// search_state.csv, pareto.json. @throws UserError
void write_results(const store::RunPaths& paths, const RunConfig& config, const report::ReportInputs& inputs,
                   const run::RunAccount& account);

/// To standard output: the front, the account of time, a line on the run.
void print_results(const store::RunPaths& paths, const report::ReportInputs& inputs,
                   const engine::RunResult& result);

/// Names the weights of front members that are not there although they should be kept.
void warn_of_missing_weights(const store::RunPaths& paths, const RunConfig& config,
                             const run::RunState& state);

}  // namespace skyline::app
