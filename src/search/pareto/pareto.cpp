#include "search/pareto/pareto.hpp"

#include <algorithm>
#include <numeric>

namespace skyline::search {

namespace {

/// Indices of the points in lexicographic order, equal points by index: only earlier points can dominate a
/// point.
std::vector<std::size_t> lexicographic_order(const PointTable& points) {
  std::vector<std::size_t> order(points.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t left, std::size_t right) {
    const std::span<const double> a = points[left];
    const std::span<const double> b = points[right];
    for (std::size_t column = 0; column < a.size(); ++column) {
      if (a[column] != b[column]) return a[column] < b[column];
    }
    return left < right;
  });
  return order;
}

bool equal(std::span<const double> left, std::span<const double> right) {
  return std::equal(left.begin(), left.end(), right.begin(), right.end());
}

/// Whether one of `members` dominates `point`; the latest first, because it is the nearest in the order.
bool dominated_by_any(const PointTable& points, const std::vector<std::size_t>& members,
                      std::span<const double> point) {
  return std::any_of(members.rbegin(), members.rend(),
                     [&](std::size_t member) { return dominates(points[member], point); });
}

std::vector<std::size_t> front_of_two_columns(const PointTable& points,
                                              const std::vector<std::size_t>& order) {
  std::vector<std::size_t> front;
  for (const std::size_t index : order) {
    // The front so far ends with its lowest second column, and what follows is not left of it.
    const bool on_front = front.empty() || points[index][1] < points[front.back()][1] ||
                          equal(points[index], points[front.back()]);
    if (on_front) front.push_back(index);
  }
  return front;
}

std::vector<std::size_t> front_by_scan(const PointTable& points, const std::vector<std::size_t>& order) {
  std::vector<std::size_t> front;
  for (const std::size_t index : order) {
    if (!dominated_by_any(points, front, points[index])) front.push_back(index);
  }
  return front;
}

std::vector<std::size_t> ranks_of_two_columns(const PointTable& points,
                                              const std::vector<std::size_t>& order) {
  std::vector<std::size_t> ranks(points.size());
  std::vector<double> lowest;  // lowest second column of each front so far; ascending
  for (std::size_t k = 0; k < order.size(); ++k) {
    const std::size_t index = order[k];
    if (k > 0 && equal(points[index], points[order[k - 1]])) {
      ranks[index] = ranks[order[k - 1]];
      continue;
    }
    const double second = points[index][1];
    const auto place = std::upper_bound(lowest.begin(), lowest.end(), second);
    ranks[index] = static_cast<std::size_t>(place - lowest.begin());
    if (place == lowest.end()) {
      lowest.push_back(second);
    } else {
      *place = second;
    }
  }
  return ranks;
}

/// Sequential efficient non-dominated sort. Being dominated by a front implies being dominated by every
/// better one, so the front of a point is found by bisection.
std::vector<std::size_t> ranks_by_bisection(const PointTable& points, const std::vector<std::size_t>& order) {
  std::vector<std::size_t> ranks(points.size());
  std::vector<std::vector<std::size_t>> fronts;
  for (const std::size_t index : order) {
    const auto place = std::partition_point(fronts.begin(), fronts.end(), [&](const auto& members) {
      return dominated_by_any(points, members, points[index]);
    });
    ranks[index] = static_cast<std::size_t>(place - fronts.begin());
    if (place == fronts.end()) {
      fronts.push_back({index});
    } else {
      place->push_back(index);
    }
  }
  return ranks;
}

}  // namespace

bool dominates(std::span<const double> left, std::span<const double> right) {
  bool better = false;
  for (std::size_t column = 0; column < left.size(); ++column) {
    if (left[column] > right[column]) return false;
    better = better || left[column] < right[column];
  }
  return better;
}

std::vector<std::size_t> pareto_front(std::span<const double> values, std::size_t num_objectives) {
  const PointTable points(values, num_objectives);
  const std::vector<std::size_t> order = lexicographic_order(points);
  std::vector<std::size_t> front =
      num_objectives == 2 ? front_of_two_columns(points, order) : front_by_scan(points, order);
  std::sort(front.begin(), front.end());
  return front;
}

std::vector<std::size_t> non_dominated_ranks(std::span<const double> values, std::size_t num_objectives) {
  const PointTable points(values, num_objectives);
  const std::vector<std::size_t> order = lexicographic_order(points);
  return num_objectives == 2 ? ranks_of_two_columns(points, order) : ranks_by_bisection(points, order);
}

}  // namespace skyline::search
