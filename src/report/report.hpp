#pragma once

#include "skyline/space/search_space.hpp"

#include "run/run_state.hpp"

#include <vector>

namespace skyline::report {

/// The source of all reports.
struct ReportInputs {
  const space::SearchSpace& space;
  const std::vector<trial::Metric>& metrics;  // metrics of Measurements::values
  const run::RunState& state;
};

enum class RunEnd { kFinished, kStopped, kFailed };

}  // namespace skyline::report
