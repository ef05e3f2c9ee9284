#pragma once

#include "report/files/trial_results.hpp"
#include "store/run_folder/run_folder.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace skyline::report {

/// Reads what the full trainings of the final front answer to the test set, as JSON
/// (docs/internals/files.md), the best first and at most 60. A run that goes on may remove some at the same
/// time.
std::map<trial::TrialNumber, std::string> read_answers(const store::RunPaths& paths,
                                                       const run::RunState& state);
/// Returns the replicates in these answers. Text that is no such JSON is left out.
std::map<trial::TrialNumber, Replicates> replicates_in(
    const std::map<trial::TrialNumber, std::string>& answers);

struct Interval {
  double low = 0;
  double high = 0;
};
/// Returns the 95 % confidence interval of a share of right answers.
/// @pre samples > 0
/// @see Wilson, J. Am. Stat. Assoc. 22(158), 1927
Interval wilson_interval(double share, std::uint64_t samples);
/// Returns whether two shares, each of so many samples, differ by more than chance: a two-sided test of two
/// proportions at 95 %, with their common variance.
bool are_shares_apart(double left, double right, std::uint64_t samples);

/// How far the samples decide a value: their number, and the 95 % interval.
struct SampleBound {
  std::uint64_t samples = 0;
  Interval interval;
};
/// Returns how far the samples decide the metric of a training, or of the mean of its repeats: Wilson's
/// interval of a share, that of the bootstrap where there are replicates; nullopt for what is neither.
std::optional<SampleBound> sample_bound(const ReportInputs& inputs, const trial::CommittedTrial& result,
                                        const std::string& metric);
/// Returns whether the samples tell two results with such a bound apart at 95 %.
bool are_apart(const ReportInputs& inputs, const trial::CommittedTrial& left,
               const trial::CommittedTrial& right, const std::string& metric);

/// Publishes the latencies as latency.json (docs/results.md). @throws Problem
void write_latencies(const store::RunPaths& paths, const std::vector<FrontLatency>& latencies);
/// Returns none if there is no such file, or if it is damaged.
std::vector<FrontLatency> read_latencies(const store::RunPaths& paths);

}  // namespace skyline::report
