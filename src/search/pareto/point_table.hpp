#pragma once

#include "skyline/core/error.hpp"

#include <cmath>
#include <cstddef>
#include <span>

namespace skyline::search {

/// A row-major table of points that someone else owns, checked once.
class PointTable {
 public:
  /// @throws InternalError for a ragged table or a NaN
  PointTable(std::span<const double> values, std::size_t num_objectives)
      : values_(values), num_objectives_(num_objectives) {
    require(num_objectives > 0, "points need at least one objective");
    require(values.size() % num_objectives == 0, "the number of values is no multiple of the objectives");
    for (const double value : values) require(!std::isnan(value), "an objective value is NaN");
  }

  std::size_t size() const { return values_.size() / num_objectives_; }
  std::span<const double> operator[](std::size_t index) const {
    return values_.subspan(index * num_objectives_, num_objectives_);
  }

 private:
  std::span<const double> values_;
  std::size_t num_objectives_;
};

}  // namespace skyline::search
