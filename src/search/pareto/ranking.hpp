#pragma once

#include <cstddef>
#include <vector>

namespace skyline::search {

/// Sorts points into fronts: no point of a front is dominated by another one of its front or of a later one.
/// All columns are minimized. O(m n^2).
/// @return  the number of each point's front, from 0, the best
/// @see Zhang et al., IEEE TEC 19(2), 2015, for the efficient sort
std::vector<std::size_t> front_ranks(const std::vector<std::vector<double>>& points);

/// Returns the crowding distance of each point among those of its front: the sum over columns of the distance
/// between its neighbours there, as a share of the front's extent. Points at an end of a column have
/// infinity.
/// @see Deb et al., IEEE TEC 6(2), 2002
std::vector<double> crowding_distances(const std::vector<std::vector<double>>& points,
                                       const std::vector<std::size_t>& ranks);

}  // namespace skyline::search
