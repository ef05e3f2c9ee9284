#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace skyline::search {

/// Returns whether `left` dominates `right`: nowhere worse and somewhere better. All columns are minimized;
/// both have the same length.
bool dominates(std::span<const double> left, std::span<const double> right);

/// Returns the volume dominated by the points and bounded by `reference`. Points that do not dominate the
/// reference add nothing. Exact. O(n log n) for two and three columns, WFG recursion for more.
/// @see While, Bradstreet, Barone, IEEE TEC 16(1), 2012
double hypervolume(std::span<const double> values, std::span<const double> reference);

/// The front of all inserted points, updated incrementally. It keeps equal points. Not thread-safe.
class ParetoArchive {
 public:
  /// Makes an empty front of points with this number of objectives, all minimized.
  explicit ParetoArchive(std::size_t num_objectives);
  /// Inserts a point under a key. Returns whether it is on the front now. O(front size).
  /// @param removed  gets the keys that the point pushed out; may be null
  /// @throws InternalError if a value is NaN
  bool insert(std::size_t key, std::span<const double> values, std::vector<std::size_t>* removed = nullptr);
  /// Returns whether the point of this key is on the front.
  bool contains(std::size_t key) const;
  /// Returns the keys on the front, in the order of insertion.
  const std::vector<std::size_t>& keys() const { return keys_; }
  /// Returns the values of the point at a position of keys(), valid until the next insert().
  std::span<const double> values_of(std::size_t position) const;
  std::size_t size() const { return keys_.size(); }

 private:
  std::size_t num_objectives_;
  std::vector<std::size_t> keys_;
  std::vector<double> values_;
};

/// Returns the keys on the front, but only the first `most` of those whose points have the same values.
std::vector<std::size_t> keys_with_few_ties(const ParetoArchive& front, std::size_t most);

}  // namespace skyline::search
