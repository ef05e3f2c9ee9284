#pragma once

#include "skyline/store/importer.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace skyline::store {

/// The way in which samples of a training set are chosen for other parts.
enum class Split : std::uint8_t {
  kDrawn,   // a share of every class, with a seed
  kLast,    // the last samples, whatever their classes: for series in time
  kGroups,  // whole groups of samples, with a seed
};

/// Shares of a training set that become other parts.
struct PartShares {
  double test = 0;
  double validation = 0;
  std::uint64_t seed = 1;
  Split split = Split::kDrawn;
};

/// Chooses a part for each sample of a training set. The shares are rounded down: of each class, or of all
/// samples if the last ones are taken; then the validation set lies before the test set. Whole groups have
/// about these shares (move_groups).
/// @param groups  group of each sample, for Split::kGroups
/// @throws UserError if the shares leave nothing to train on, or there are too few groups
std::vector<Part> draw_parts(std::span<const std::int32_t> labels, const PartShares& shares,
                             std::span<const std::int32_t> groups = {});

/// Describes the choice for people; empty if nothing is taken.
/// @param has_classes  whether the shares are drawn of each class
std::string draw_text(const PartShares& shares, bool has_classes = true);

}  // namespace skyline::store
