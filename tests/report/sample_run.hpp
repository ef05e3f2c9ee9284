#pragma once

#include "report/files/trial_results.hpp"
#include "support/scratch_folder.hpp"

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace skyline::testing {

/// The space of depth (1 to 12), kernel (1, 3, 5, 7) and width (16, 32, 64, 128) on 8x8 images.
space::SearchSpace sample_space();

/// Maximize validation_accuracy, minimize flops, from 500 M on; at most 1e6 parameters and 5 ms of latency.
objective::ObjectiveSet sample_objectives();

/// A trial of sample_space() with costs and arch id made by hand.
struct SampleTrial {
  std::uint64_t number = 0;
  std::vector<std::uint32_t> choices = {};  // choices of depth, kernel, width
  std::int64_t parameters = 0;
  std::int64_t flops = 0;
  trial::Outcome outcome = {};
  trial::Origin origin = trial::Origin::kInitial;
  std::vector<trial::TrialNumber> parents = {};
  std::uint32_t iteration = 0;
  trial::Phase phase = trial::Phase::kSearch;
  double epochs = 0.5;
};
trial::CommittedTrial make_trial(const space::SearchSpace& space, const SampleTrial& sample);
/// validation_accuracy, latency_ms, test_accuracy, steps.
std::vector<trial::Metric> sample_metrics();
trial::Measurements measured(double validation_accuracy, double latency_ms);

/// Six committed trials: 0 and 1 are the front, 2 is dominated, 3 failed; 4 and 5 are the full trainings of
/// 1, which succeeded, and of 0, which failed.
struct SampleRun {
  space::SearchSpace space = sample_space();
  objective::ObjectiveSet objectives = sample_objectives();
  std::vector<trial::Metric> metrics = sample_metrics();
  std::vector<trial::CommittedTrial> committed;
  std::vector<trial::Baseline> baselines;
  std::vector<report::FrontLatency> latencies;
  std::map<trial::TrialNumber, report::Replicates> replicates;
  std::uint32_t repeats = 1;  // repeats of the search

  SampleRun();
  /// Returns the state after the present trials, at their positions in `committed`.
  run::RunState state() const;
  /// Good until the next call.
  report::ReportInputs inputs() const {
    state_ = state();
    return {space, metrics, state_, baselines, {}, latencies, replicates};
  }

 private:
  mutable run::RunState state_;
};

/// A run folder of its own, with weights/ and logs/, gone with the object.
class SampleFolder {
 public:
  SampleFolder();
  const store::RunPaths& paths() const { return paths_; }
  void write(const std::filesystem::path& path, const std::string& text) const;

 private:
  ScratchFolder folder_;
  store::RunPaths paths_{folder_.path()};
};

/// The whole file; a failed read is an empty text.
std::string text_of(const std::filesystem::path& path);

}  // namespace skyline::testing
