#pragma once

#include "skyline/store/importer.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace skyline::store {

/// Shares of every class that a training set gives away, by a seeded draw.
struct PartShares {
  double test = 0;
  double validation = 0;
  std::uint64_t seed = 1;
};

/// A part for each sample of a training set: of each class round-down of the shares.
/// @throws UserError if the shares leave nothing to train on
std::vector<Part> draw_parts(std::span<const std::int32_t> labels, const PartShares& shares);

/// What people should know of the draw; empty if nothing is drawn.
std::string draw_text(const PartShares& shares);

}  // namespace skyline::store
