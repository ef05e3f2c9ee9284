#pragma once

#include "skyline/space/search_space.hpp"

#include "run/run_state.hpp"

#include <algorithm>
#include <string>
#include <vector>

namespace skyline::report {

/// Where the search trials come from whose models `skyline train` trains.
struct TakenTrials {
  std::string run = {};                          // name of that run's folder; empty if nothing is taken
  std::vector<trial::TrialNumber> numbers = {};  // their numbers there, [search trials]
};

/// The latency of a network of the front, measured in several rounds when the run was done.
struct FrontLatency {
  trial::TrialNumber trial = 0;
  std::vector<double> rounds_ms;  // at least one

  double least_ms() const { return std::ranges::min(rounds_ms); }
};

/// The source of all reports.
struct ReportInputs {
  const space::SearchSpace& space;
  const std::vector<trial::Metric>& metrics;  // metrics of Measurements::values
  const run::RunState& state;
  std::vector<trial::Yardstick> yardsticks = {};
  TakenTrials taken = {};
  std::vector<FrontLatency> latencies = {};
};

/// Says what cannot be expected of two runs with equal configurations.
constexpr const char* kNotDeterministic =
    "the evaluator is not deterministic: equal runs need not have equal results";

enum class RunEnd { kFinished, kStopped, kFailed };

}  // namespace skyline::report
