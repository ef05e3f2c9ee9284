#include "search/pareto/ranking.hpp"

#include "skyline/search/pareto.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

namespace skyline::search {
namespace {

/// Returns the places of the points in the order of their values: of the first column, where these are equal
/// of the second one, and so on.
std::vector<std::size_t> sorted_places(const std::vector<std::vector<double>>& points) {
  std::vector<std::size_t> places(points.size());
  std::iota(places.begin(), places.end(), std::size_t{0});
  std::ranges::stable_sort(places, {}, [&](std::size_t place) { return points[place]; });
  return places;
}

}  // namespace

/// A point is dominated only by points before it in the order of values, and belongs to the first front of
/// which none dominates it.
std::vector<std::size_t> front_ranks(const std::vector<std::vector<double>>& points) {
  std::vector<std::size_t> ranks(points.size());
  std::vector<std::vector<std::size_t>> fronts;
  for (const std::size_t place : sorted_places(points)) {
    const auto is_beaten = [&](const std::vector<std::size_t>& front) {
      return std::ranges::any_of(front,
                                 [&](std::size_t other) { return dominates(points[other], points[place]); });
    };
    const auto front = std::ranges::find_if_not(fronts, is_beaten);
    ranks[place] = static_cast<std::size_t>(front - fronts.begin());
    if (front == fronts.end()) {
      fronts.push_back({place});
    } else {
      front->push_back(place);
    }
  }
  return ranks;
}

std::vector<double> crowding_distances(const std::vector<std::vector<double>>& points,
                                       const std::vector<std::size_t>& ranks) {
  std::vector<std::vector<std::size_t>> fronts;
  for (std::size_t place = 0; place < points.size(); ++place) {
    if (ranks[place] >= fronts.size()) fronts.resize(ranks[place] + 1);
    fronts[ranks[place]].push_back(place);
  }
  std::vector<double> distances(points.size());
  for (std::vector<std::size_t>& front : fronts) {
    for (std::size_t column = 0; !front.empty() && column < points[front.front()].size(); ++column) {
      const auto value = [&](std::size_t place) { return points[place][column]; };
      std::ranges::stable_sort(front, {}, value);
      distances[front.front()] = distances[front.back()] = std::numeric_limits<double>::infinity();
      const double extent = value(front.back()) - value(front.front());
      for (std::size_t i = 1; i + 1 < front.size() && extent > 0; ++i) {
        distances[front[i]] += (value(front[i + 1]) - value(front[i - 1])) / extent;
      }
    }
  }
  return distances;
}

}  // namespace skyline::search
