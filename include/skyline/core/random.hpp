#pragma once

#include "skyline/core/random_engine.hpp"

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>
#include <utility>

namespace skyline {

/// A stream of random numbers (RandomEngine), the same on every machine and with every compiler for one seed.
/// The standard library's distributions are not used, because their results differ between implementations.
/// Not thread-safe; use one stream per thread.
class RandomStream {
 public:
  explicit RandomStream(std::uint64_t seed) : engine_(seed) {}

  /// Draws 64 random bits.
  std::uint64_t next();
  /// Draws uniformly from [0, bound), without bias. @pre bound > 0
  std::uint64_t below(std::uint64_t bound);
  /// Draws uniformly from [0, 1), with 53 bits.
  double uniform();
  /// Draws an index with probability weights[i] / sum(weights). @pre some weight > 0, none negative
  std::size_t weighted(std::span<const double> weights);

  /// Shuffles the values (Fisher-Yates).
  template <typename T>
  void shuffle(std::span<T> values) {
    for (std::size_t i = values.size(); i > 1; --i) {
      std::swap(values[i - 1], values[static_cast<std::size_t>(below(i))]);
    }
  }

 private:
  RandomEngine engine_;
};

/// Makes a seed for the part of the program that `purpose` names, from a parent seed and further numbers.
/// Nothing else (rank, slot, time, address) ever goes into a seed.
std::uint64_t derive_seed(std::uint64_t seed, std::string_view purpose,
                          std::initializer_list<std::uint64_t> numbers = {});

}  // namespace skyline
