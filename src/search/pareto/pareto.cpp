#include "skyline/search/pareto.hpp"

#include "skyline/core/error.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <vector>

namespace skyline::search {

bool dominates(std::span<const double> left, std::span<const double> right) {
  bool better = false;
  for (std::size_t column = 0; column < left.size(); ++column) {
    if (left[column] > right[column]) return false;
    better = better || left[column] < right[column];
  }
  return better;
}

ParetoArchive::ParetoArchive(std::size_t num_objectives) : num_objectives_(num_objectives) {
  require(num_objectives > 0, "an archive needs at least one objective");
}

bool ParetoArchive::insert(std::size_t key, std::span<const double> values,
                           std::vector<std::size_t>* removed) {
  require(values.size() == num_objectives_, "a point of another number of objectives than the archive's");
  require(std::ranges::none_of(values, [](double value) { return std::isnan(value); }),
          "an objective value is NaN");
  if (removed != nullptr) removed->clear();

  std::size_t kept = 0;
  for (std::size_t position = 0; position < keys_.size(); ++position) {
    const std::span<const double> member = values_of(position);
    // Nothing was removed before this, since the archive never holds a point and its dominator.
    if (dominates(member, values)) return false;
    if (dominates(values, member)) {
      if (removed != nullptr) removed->push_back(keys_[position]);
      continue;
    }
    if (kept != position) {
      keys_[kept] = keys_[position];
      std::copy(member.begin(), member.end(),
                values_.begin() + static_cast<std::ptrdiff_t>(kept * num_objectives_));
    }
    ++kept;
  }
  keys_.resize(kept);
  values_.resize(kept * num_objectives_);
  keys_.push_back(key);
  values_.insert(values_.end(), values.begin(), values.end());
  return true;
}

bool ParetoArchive::contains(std::size_t key) const {
  return std::find(keys_.begin(), keys_.end(), key) != keys_.end();
}

std::span<const double> ParetoArchive::values_of(std::size_t position) const {
  return std::span<const double>(values_).subspan(position * num_objectives_, num_objectives_);
}

std::vector<std::size_t> keys_with_few_ties(const ParetoArchive& front, std::size_t most) {
  std::map<std::vector<double>, std::size_t> counts;
  std::vector<std::size_t> keys;
  for (std::size_t position = 0; position < front.size(); ++position) {
    const auto values = front.values_of(position);
    if (counts[{values.begin(), values.end()}]++ < most) keys.push_back(front.keys()[position]);
  }
  return keys;
}

namespace {

using Point = std::vector<double>;
using Reference = std::span<const double>;

double volume_of(std::vector<Point> points, Reference reference);

/// Drops dominated points, and all but one of equal points, because they add no volume.
std::vector<Point> without_dominated(std::vector<Point> points) {
  std::sort(points.begin(), points.end());
  std::vector<Point> front;
  for (Point& point : points) {
    const bool covered = std::any_of(front.rbegin(), front.rend(), [&](const Point& member) {
      return dominates(member, point) || member == point;
    });
    if (!covered) front.push_back(std::move(point));
  }
  return front;
}

double box_volume(const Point& point, Reference reference) {
  double volume = 1;
  for (std::size_t column = 0; column < reference.size(); ++column)
    volume *= reference[column] - point[column];
  return volume;
}

/// Sweeps from left to right; each step of the staircase adds the strip below the last one.
double area_of(std::vector<Point> points, Reference reference) {
  std::sort(points.begin(), points.end());
  double area = 0;
  double ceiling = reference[1];
  for (const Point& point : points) {
    if (point[1] >= ceiling) continue;
    area += (reference[0] - point[0]) * (ceiling - point[1]);
    ceiling = point[1];
  }
  return area;
}

/// Adds a point to a staircase: the second column of each step by its first, the one rises, the other falls.
/// Returns the area that the point adds to that of the staircase.
double add_step(std::map<double, double>& steps, const Point& point, Reference reference) {
  auto next = steps.upper_bound(point[0]);
  double ceiling = next == steps.begin() ? reference[1] : std::prev(next)->second;
  if (ceiling <= point[1]) return 0;
  double area = 0;
  double left = point[0];
  while (next != steps.end() && next->second >= point[1]) {
    area += (next->first - left) * (ceiling - point[1]);
    left = next->first;
    ceiling = next->second;
    next = steps.erase(next);
  }
  area += ((next == steps.end() ? reference[0] : next->first) - left) * (ceiling - point[1]);
  steps.insert_or_assign(point[0], point[1]);
  return area;
}

/// Sweeps through the third column and keeps the staircase of the points passed. O(n log n).
double space_of(std::vector<Point> points, Reference reference) {
  std::sort(points.begin(), points.end(), [](const Point& left, const Point& right) {
    return left.back() != right.back() ? left.back() < right.back() : left < right;
  });
  std::map<double, double> steps;
  double area = 0;
  double volume = 0;
  for (std::size_t k = 0; k < points.size(); ++k) {
    area += add_step(steps, points[k], reference);
    const double end = k + 1 < points.size() ? points[k + 1].back() : reference.back();
    volume += area * (end - points[k].back());
  }
  return volume;
}

/// WFG: sums the volumes that each point adds to those after it. Points are sorted with the worst last column
/// first. The part of a later point's box inside this point's box then reaches as far in the last column as
/// this point does, so the overlap is a volume of one column less, times that reach.
double sum_of_exclusive_volumes(std::vector<Point> points, Reference reference) {
  std::sort(points.begin(), points.end(), [](const Point& left, const Point& right) {
    return left.back() != right.back() ? left.back() > right.back() : left < right;
  });
  const Reference base = reference.first(reference.size() - 1);
  double volume = 0;
  for (std::size_t k = 0; k < points.size(); ++k) {
    const double reach = reference.back() - points[k].back();
    std::vector<Point> overlaps;
    for (std::size_t later = k + 1; later < points.size(); ++later) {
      Point overlap(base.size());
      for (std::size_t column = 0; column < base.size(); ++column) {
        overlap[column] = std::max(points[k][column], points[later][column]);
      }
      overlaps.push_back(std::move(overlap));
    }
    volume += reach * (box_volume(points[k], base) - volume_of(std::move(overlaps), base));
  }
  return volume;
}

double volume_of(std::vector<Point> points, Reference reference) {
  if (points.empty()) return 0;
  if (points.size() == 1) return box_volume(points.front(), reference);
  if (reference.size() == 1) return reference[0] - std::min_element(points.begin(), points.end())->front();
  if (reference.size() == 2) return area_of(std::move(points), reference);
  if (reference.size() == 3) return space_of(std::move(points), reference);
  return sum_of_exclusive_volumes(without_dominated(std::move(points)), reference);
}

}  // namespace

double hypervolume(std::span<const double> values, std::span<const double> reference) {
  require(!reference.empty(), "points need at least one objective");
  require(values.size() % reference.size() == 0, "the number of values is no multiple of the objectives");
  for (const std::span<const double> checked : {values, reference}) {
    require(std::ranges::none_of(checked, [](double value) { return std::isnan(value); }),
            "an objective value is NaN");
  }
  std::vector<Point> inside;
  for (std::size_t begin = 0; begin < values.size(); begin += reference.size()) {
    const std::span<const double> point = values.subspan(begin, reference.size());
    const bool adds_volume = std::equal(point.begin(), point.end(), reference.begin(),
                                        [](double value, double bound) { return value < bound; });
    if (adds_volume) inside.emplace_back(point.begin(), point.end());
  }
  return volume_of(std::move(inside), reference);
}

}  // namespace skyline::search
