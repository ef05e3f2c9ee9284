#pragma once

#include "report/report.hpp"
#include "store/run_folder/run_folder.hpp"

namespace skyline::report {

/// Writes search_state.csv: one row per search trial, with the columns that Archai writes, then parameters
/// and costs. Published whole. @throws UserError, FaultError
void write_search_state_csv(const store::RunPaths& paths, const ReportInputs& inputs);

}  // namespace skyline::report
