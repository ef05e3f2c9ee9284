#pragma once

#include <cstddef>
#include <cstring>

/// Fixed-width vectors of floats for kernels. The compiler maps them to the registers of each target, so the
/// order of every sum is the same on every machine. Include in files compiled with -Wno-psabi only.
namespace skyline::train::kernels {

// NOLINTBEGIN: compiler vectors
typedef float Lanes16 __attribute__((vector_size(64)));
typedef float Lanes8 __attribute__((vector_size(32)));
// NOLINTEND

/// Builds a function for AVX-512, AVX2 and plain x86-64, chosen when the program starts.
#if defined(__x86_64__) && !defined(__clang__)
#define SKYLINE_MULTI_TARGET __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define SKYLINE_MULTI_TARGET
#endif
#define SKYLINE_INLINE inline __attribute__((always_inline))

template <typename V>
constexpr std::size_t lanes_of() {
  return sizeof(V) / sizeof(float);
}

template <typename V>
SKYLINE_INLINE V load(const float* source) {
  V value;
  std::memcpy(&value, source, sizeof(V));
  return value;
}

template <typename V>
SKYLINE_INLINE void store(float* target, V value) {
  std::memcpy(target, &value, sizeof(V));
}

template <typename V>
SKYLINE_INLINE V positive_part(V value) {
  const V zero = V{};
  return value > zero ? value : zero;
}

/// Selects `value` where `gate` is positive, zero elsewhere.
template <typename V>
SKYLINE_INLINE V where_positive(V gate, V value) {
  const V zero = V{};
  return gate > zero ? value : zero;
}

/// Number of independent sums per piece: four in all hide the latency of additions.
template <std::size_t kBlocks>
constexpr std::size_t chains_for() {
  return kBlocks >= 4 ? 1 : 4 / kBlocks;
}

/// Adds float sums to double totals, chain by chain, lane by lane.
template <typename V, std::size_t kBlocks, std::size_t kChains>
SKYLINE_INLINE void add_to_totals(const V (&partial)[kChains][kBlocks], double* totals) {
  constexpr std::size_t kLanes = lanes_of<V>();
  for (std::size_t b = 0; b < kBlocks; ++b) {
    V together = partial[0][b];
    for (std::size_t k = 1; k < kChains; ++k) {
      together += partial[k][b];
    }
    float values[kLanes];
    store(values, together);
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      totals[b * kLanes + lane] += static_cast<double>(values[lane]);
    }
  }
}

/// Calls body.template run<V, kBlocks>(channel) so that every channel is covered once, widest pieces first.
template <typename Body>
SKYLINE_INLINE void for_channel_pieces(std::size_t channels, const Body& body) {
  std::size_t channel = 0;
  for (; channel + 64 <= channels; channel += 64) {
    body.template run<Lanes16, 4>(channel);
  }
  for (; channel + 32 <= channels; channel += 32) {
    body.template run<Lanes16, 2>(channel);
  }
  for (; channel + 16 <= channels; channel += 16) {
    body.template run<Lanes16, 1>(channel);
  }
  for (; channel + 8 <= channels; channel += 8) {
    body.template run<Lanes8, 1>(channel);
  }
  for (; channel < channels; ++channel) {
    body.template run<float, 1>(channel);
  }
}

}  // namespace skyline::train::kernels
