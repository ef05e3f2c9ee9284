#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace skyline::search {

/// Whether `left` dominates `right`: nowhere worse and somewhere better. All columns minimized; same length.
bool dominates(std::span<const double> left, std::span<const double> right);

/// Volume dominated by the points and bounded by `reference`; points that do not dominate the reference add
/// nothing. Exact. O(n log n) for two columns, WFG recursion for more.
/// @see While, Bradstreet, Barone, IEEE TEC 16(1), 2012
double hypervolume(std::span<const double> values, std::span<const double> reference);

/// The front of all inserted points, updated incrementally. Keeps equal points.
class ParetoArchive {
 public:
  explicit ParetoArchive(std::size_t num_objectives);
  /// Inserts a point under a key; returns whether it is on the front now. `removed` (may be null) receives
  /// the keys that it pushed out. O(front size). @throws InternalError if a value is NaN
  bool insert(std::size_t key, std::span<const double> values, std::vector<std::size_t>* removed = nullptr);
  bool contains(std::size_t key) const;
  /// Keys on the front, in the order of insertion.
  const std::vector<std::size_t>& keys() const { return keys_; }
  std::span<const double> values_of(std::size_t position) const;
  std::size_t size() const { return keys_.size(); }

 private:
  std::size_t num_objectives_;
  std::vector<std::size_t> keys_;
  std::vector<double> values_;
};

/// Keys on the front, but only the first `most` of those whose points have the same values.
std::vector<std::size_t> keys_with_few_ties(const ParetoArchive& front, std::size_t most);

}  // namespace skyline::search
