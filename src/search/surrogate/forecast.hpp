#pragma once

#include "search/surrogate/gaussian_process.hpp"

#include <cstddef>
#include <cstdint>
#include <list>
#include <span>
#include <unordered_map>
#include <vector>

namespace skyline::search {

/// What a process expects of candidates that are asked about again and again: what was computed for one is
/// kept by its key and extended by the points that came since, O(n) for each point and candidate. The numbers
/// are those of GaussianProcess::predict(), bit for bit. Not thread-safe.
class Forecast {
 public:
  /// @param process     is fitted before each prediction, and lives longer
  /// @param most_bytes  limit of what is kept from one call to the next, of the candidates asked about last
  Forecast(const GaussianProcess& process, std::size_t most_bytes)
      : process_(process), most_bytes_(most_bytes) {}
  Forecast(const Forecast&) = delete;
  Forecast& operator=(const Forecast&) = delete;

  /// Returns what the process expects of the candidates.
  /// @param keys  one for each candidate: equal keys stand for equal points, also in other calls
  Prediction predict(const Points& candidates, std::span<const std::uint64_t> keys);

 private:
  /// The solved kernel of a candidate.
  struct Kept {
    std::uint64_t key = 0;
    std::vector<double> solved;  // rows in whole lanes
    std::uint64_t stamp = 0;     // stamp of the last row
    std::uint64_t call = 0;      // the last one that asked for it
  };

  /// Returns how many rows of a kept candidate are those of the process still.
  Eigen::Index rows_that_hold(const Kept& kept) const;
  Kept& find(std::uint64_t key);
  static std::size_t bytes_of(const Kept& kept);

  const GaussianProcess& process_;
  const std::size_t most_bytes_;
  std::list<Kept> by_age_;  // the one that was asked about last at the end
  std::unordered_map<std::uint64_t, std::list<Kept>::iterator> kept_;
  std::size_t bytes_ = 0;  // size of everything that is kept
  std::uint64_t call_ = 0;
};

}  // namespace skyline::search
