#include "engine/group/group_sums.hpp"

#include <algorithm>
#include <array>
#include <bit>

namespace skyline::engine {
namespace {

constexpr std::size_t kBlock = 1024;  // so small that all operands stay in the first-level cache

/// Adds two arrays; the sum may be one of them.
template <typename T>
void add(const T* left, const T* right, T* sum, std::size_t count) {
#pragma GCC ivdep
  for (std::size_t i = 0; i < count; ++i) sum[i] = left[i] + right[i];
}

/// @return where the sum of the block stands: in `sum`, or in the term if there is only one
template <typename T>
const T* add_block(std::span<const T* const> terms, std::size_t at, std::size_t count, T* sum) {
  if (terms.size() == 1) return terms[0] + at;
  const std::size_t left_terms = std::bit_floor(terms.size() - 1);
  std::array<T, kBlock> left_sum;
  std::array<T, kBlock> right_sum;
  const T* left = add_block(terms.first(left_terms), at, count, left_sum.data());
  const T* right = add_block(terms.subspan(left_terms), at, count, right_sum.data());
  add(left, right, sum, count);
  return sum;
}

template <typename T>
void add_blocks(std::span<const T* const> terms, std::size_t count, std::span<T* const> results) {
  for (std::size_t at = 0; at < count; at += kBlock) {
    const std::size_t block = std::min(kBlock, count - at);
    const T* sum = add_block(terms, at, block, results[0] + at);
    for (T* const result : results) {
      if (result + at != sum) std::copy_n(sum, block, result + at);
    }
  }
}

}  // namespace

void add_along_tree(std::span<const float* const> terms, std::size_t count, std::span<float* const> results) {
  add_blocks<float>(terms, count, results);
}

void add_along_tree(std::span<const double* const> terms, std::size_t count,
                    std::span<double* const> results) {
  add_blocks<double>(terms, count, results);
}

}  // namespace skyline::engine
