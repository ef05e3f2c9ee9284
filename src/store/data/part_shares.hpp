#pragma once

#include "skyline/store/importer.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace skyline::store {

/// Shares of every class that are drawn from a training set for other parts, with a seed.
struct PartShares {
  double test = 0;
  double validation = 0;
  std::uint64_t seed = 1;
};

/// Draws a part for each sample of a training set. Of each class the shares are taken, rounded down.
/// @throws UserError if the shares leave nothing to train on
std::vector<Part> draw_parts(std::span<const std::int32_t> labels, const PartShares& shares);

/// Describes the draw for people; empty if nothing is drawn.
std::string draw_text(const PartShares& shares);

}  // namespace skyline::store
