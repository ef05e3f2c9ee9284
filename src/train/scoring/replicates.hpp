#pragma once

#include "store/arrays/preparation.hpp"
#include "train/scoring/metrics.hpp"

#include <cstddef>
#include <span>
#include <vector>

namespace skyline::train {

/// Most samples of a set that is resampled; of more, chance decides little.
constexpr std::size_t kMostResampled = 200'000;

/// Returns what metrics would be on resamples of a set, which draw as many samples with replacement.
/// Replicate i draws the same samples for every network, so that the replicates of two networks can be
/// compared in pairs. Deterministic.
/// @param samples  a set of at least one and at most kMostResampled samples
/// @param outputs  [samples, outputs] of the network
/// @param columns  as Scorer has them
/// @return         [metrics][200 to 1000 replicates, fewer of more samples]
/// @see            Efron and Tibshirani, An Introduction to the Bootstrap, 1993
std::vector<std::vector<double>> replicates_of(std::span<const LossOrMetric> metrics,
                                               const store::SampleView& samples,
                                               std::span<const float> outputs,
                                               std::span<const store::TargetColumn> columns);

}  // namespace skyline::train
