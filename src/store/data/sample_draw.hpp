#pragma once

#include "skyline/core/random.hpp"
#include "skyline/store/dataset.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace skyline::store {

/// Samples of which those of one group stay together.
struct GroupedSamples {
  std::span<const std::int32_t> labels;  // class of each sample, or one common label
  std::span<const std::int32_t> groups;  // group of each sample
};

/// A part that gets groups of the training set.
struct GroupDraw {
  Part part = Part::kValidation;
  double share = 0;            // share of all samples, above 0
  std::size_t least_left = 1;  // groups that stay in the training set at least
};

/// Moves whole groups of the training set to another part. In random order each moves that brings the part's
/// number of samples of each class closer to the share, all in all; at least one moves. A group with all
/// training samples of a class stays.
/// @param parts  part of each sample
/// @throws UserError if there are too few groups, or none may move
void move_groups(const GroupedSamples& samples, const GroupDraw& draw, RandomStream& random,
                 std::vector<Part>& parts);

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
