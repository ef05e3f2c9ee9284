#pragma once

#include "skyline/space/search_space.hpp"

#include "run/run_state.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace skyline::report {

/// Where the search trials come from whose models `skyline train` trains.
struct SourceTrials {
  std::string run = {};                          // name of that run's folder; empty if there is none
  std::vector<trial::TrialNumber> numbers = {};  // their numbers there, [search trials]
};

/// The latency of a network of the front, measured in several rounds when the run was done.
struct FrontLatency {
  trial::TrialNumber trial = 0;
  std::vector<double> rounds_ms;  // at least one

  double least_ms() const { return std::ranges::min(rounds_ms); }
};

/// The values that the metrics of a full training have on resamples of the test set. Equal places of two
/// networks are of the same samples.
struct Replicates {
  std::uint64_t samples = 0;                          // size of the test set
  std::map<std::string, std::vector<double>> values;  // at least one for each metric
};

/// The source of all reports.
struct ReportInputs {
  const space::SearchSpace& space;
  const std::vector<trial::Metric>& metrics;  // metrics of Measurements::values
  const run::RunState& state;
  std::vector<trial::Baseline> baselines = {};
  SourceTrials source = {};
  std::vector<FrontLatency> latencies = {};
  std::map<trial::TrialNumber, Replicates> replicates = {};  // key: a member of the final front
  bool may_be_lucky = false;  // whether results depend on a seed, so that the best ones owe something to it
};

/// Says what cannot be expected of two runs with equal configurations.
constexpr const char* kNotDeterministic =
    "the evaluator is not deterministic: equal runs need not have equal results";

enum class RunEnd { kFinished, kStopped, kFailed };

}  // namespace skyline::report
