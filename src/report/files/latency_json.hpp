#pragma once

#include "report/report.hpp"
#include "store/run_folder/run_folder.hpp"

#include <vector>

namespace skyline::report {

/// Publishes the latencies as latency.json (docs/results.md). @throws Problem
void write_latencies(const store::RunPaths& paths, const std::vector<FrontLatency>& latencies);
/// Returns none if there is no such file, or if it is damaged.
std::vector<FrontLatency> read_latencies(const store::RunPaths& paths);

}  // namespace skyline::report
