#pragma once

#include <cstdint>

/// Marks an inline function that also runs on devices: one source gives the same bits on hosts and devices.
#ifdef __CUDACC__
#define SKYLINE_DEVICE_CODE __host__ __device__
#else
#define SKYLINE_DEVICE_CODE
#endif

namespace skyline {

/// The generator behind RandomStream, for hosts and devices: xoshiro256**, seeded by SplitMix64.
/// @see Blackman and Vigna, ACM TOMS 47(4), 2021; Steele, Lea and Flood, OOPSLA 2014
class RandomEngine {
 public:
  SKYLINE_DEVICE_CODE explicit RandomEngine(std::uint64_t seed) {
    for (std::uint64_t& word : state_) {
      seed += 0x9e3779b97f4a7c15U;
      word = seed;
      word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9U;
      word = (word ^ (word >> 27)) * 0x94d049bb133111ebU;
      word ^= word >> 31;
    }
  }

  SKYLINE_DEVICE_CODE std::uint64_t next() {
    const std::uint64_t result = rotated(state_[1] * 5, 7) * 9;
    const std::uint64_t shifted = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= shifted;
    state_[3] = rotated(state_[3], 45);
    return result;
  }

  /// Draws uniformly from [0, bound), without bias. It multiplies instead of dividing, and draws again for
  /// the few low products that would favour some results. @pre bound > 0
  /// @see Lemire, ACM TOMACS 29(1), 2019
  SKYLINE_DEVICE_CODE std::uint64_t below(std::uint64_t bound) {
    Wide product = Wide{next()} * bound;
    if (static_cast<std::uint64_t>(product) < bound) {
      const std::uint64_t threshold = (0 - bound) % bound;
      while (static_cast<std::uint64_t>(product) < threshold) product = Wide{next()} * bound;
    }
    return static_cast<std::uint64_t>(product >> 64);
  }

 private:
  __extension__ typedef unsigned __int128 Wide;  // nvcc does not take `using` here

  SKYLINE_DEVICE_CODE static std::uint64_t rotated(std::uint64_t value, int bits) {
    return (value << bits) | (value >> (64 - bits));
  }

  std::uint64_t state_[4];
};

}  // namespace skyline
