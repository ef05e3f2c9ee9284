#pragma once

#include "skyline/store/dataset.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace skyline::store {

/// Samples by which the values inside a network are measured, for its int8 form.
constexpr std::size_t kCalibrationSamples = 500;
/// Fewer of them say little of a network's values.
constexpr std::size_t kFewCalibrationSamples = 32;

/// Returns indices of samples on which the networks of a run are trained, of each class nearly the same
/// share. Ascending; a larger part contains the smaller ones.
/// @param split  split of the data set's training set
/// @param count  most samples
/// @param seed   seed of the run
std::vector<std::int64_t> calibration_samples(const Dataset& dataset, const SplitIndices& split,
                                              std::size_t count, std::uint64_t seed);

}  // namespace skyline::store
