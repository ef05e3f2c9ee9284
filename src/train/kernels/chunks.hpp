#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>

namespace skyline::train::kernels {

/// Returns how many of LibTorch's threads a loop uses: 1 if there is too little work per thread.
/// @param count  iterations of the loop
/// @param size   elements that an iteration computes
std::size_t threads_for(std::size_t count, std::size_t size);

/// Calls work(first, last) for parts of [0, count), on threads_for(count, size) threads. The parts depend on
/// the number of threads, so the result of an iteration must not depend on its part.
void in_parallel(std::size_t count, std::size_t size,
                 const std::function<void(std::size_t first, std::size_t last)>& work);

/// Rows in chunks that stay in the first-level cache and whose float sums stay accurate. No chunk crosses the
/// border between two groups of rows.
struct RowChunks {
  std::size_t rows;
  std::size_t channels;
  std::size_t group;  // a divisor of the number of rows
  std::size_t step;   // rows of a chunk, except for the last one of a group

  /// @param values  most values of a chunk, which has 16 to 256 rows
  static RowChunks of(std::size_t rows, std::size_t channels, std::size_t group, std::size_t values) {
    return {rows, channels, group,
            std::clamp<std::size_t>(values / std::max<std::size_t>(channels, 1), 16, 256)};
  }
  std::size_t of_a_group() const { return (group + step - 1) / step; }
  std::size_t count() const { return rows == 0 ? 0 : rows / group * of_a_group(); }
  std::size_t first_row(std::size_t chunk) const {
    return chunk / of_a_group() * group + chunk % of_a_group() * step;
  }
  std::size_t rows_of(std::size_t chunk) const { return std::min(step, group - chunk % of_a_group() * step); }
  std::size_t elements() const { return step * channels; }
};

/// Adds sums over chunks to totals, in the order of the chunks, whichever thread computes them.
/// @param totals      [width]
/// @param sum_chunks  sum_chunks(first, last, sums) writes `width` sums for each of these chunks
void add_chunks(const RowChunks& chunks, std::size_t width, double* totals,
                const std::function<void(std::size_t first, std::size_t last, float* sums)>& sum_chunks);

}  // namespace skyline::train::kernels
