#include "skyline/search/pareto.hpp"

#include "skyline/core/error.hpp"

#include <algorithm>
#include <cmath>
#include <map>

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

}  // namespace skyline::search
