#pragma once

#include "train/kernels/values.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

/// Fixed-width vectors of floats for kernels. The compiler maps them to the registers of each target, so the
/// order of every sum is the same on every machine. Include in files compiled with -Wno-psabi only.
namespace skyline::train::kernels {

// NOLINTBEGIN: compiler vectors
typedef float Lanes16 __attribute__((vector_size(64)));
typedef float Lanes8 __attribute__((vector_size(32)));
typedef std::uint32_t Bits16 __attribute__((vector_size(64)));
typedef std::uint32_t Bits8 __attribute__((vector_size(32)));
typedef std::uint16_t Halves16 __attribute__((vector_size(32)));
typedef std::uint16_t Halves8 __attribute__((vector_size(16)));
// NOLINTEND

/// Builds a function for AVX-512, AVX2 and plain x86-64, chosen when the program starts.
#if defined(__x86_64__) && !defined(__clang__)
#define SKYLINE_MULTI_TARGET __attribute__((target_clones("arch=x86-64-v4", "avx2", "default")))
#else
#define SKYLINE_MULTI_TARGET
#endif
#define SKYLINE_INLINE inline __attribute__((always_inline))
#define SKYLINE_INLINED __attribute__((always_inline))  // behind a lambda's parameters

template <typename V>
constexpr std::size_t lanes_of() {
  return sizeof(V) / sizeof(float);
}

/// The types of a vector's bits, and of their halves.
template <typename V>
struct BitsOf;
template <>
struct BitsOf<Lanes16> {
  using Whole = Bits16;
  using Half = Halves16;
};
template <>
struct BitsOf<Lanes8> {
  using Whole = Bits8;
  using Half = Halves8;
};

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
SKYLINE_INLINE V load(const BFloat16* source) {
  V value;
  if constexpr (sizeof(V) == sizeof(float)) {
    const std::uint32_t bits = static_cast<std::uint32_t>(source->bits) << 16;
    std::memcpy(&value, &bits, sizeof(V));
  } else {
    typename BitsOf<V>::Half half;
    std::memcpy(&half, source, sizeof(half));
    const auto bits = __builtin_convertvector(half, typename BitsOf<V>::Whole) << 16;
    std::memcpy(&value, &bits, sizeof(V));
  }
  return value;
}

template <typename V>
SKYLINE_INLINE void store(BFloat16* target, V value) {
  if constexpr (sizeof(V) == sizeof(float)) {
    std::uint32_t bits;
    std::memcpy(&bits, &value, sizeof(V));
    target->bits = static_cast<std::uint16_t>(rounded_to_bfloat16(bits));
  } else {
    typename BitsOf<V>::Whole bits;
    std::memcpy(&bits, &value, sizeof(V));
    const auto half = __builtin_convertvector(rounded_to_bfloat16(bits), typename BitsOf<V>::Half);
    std::memcpy(target, &half, sizeof(half));
  }
}

/// Calls visit with a value of the type of the elements. Write the lambda with SKYLINE_INLINED.
template <typename Visit>
SKYLINE_INLINE void with_type_of(const Values& values, const Visit& visit) {
  if (values.bfloat16) {
    visit(BFloat16{});
  } else {
    visit(float{});
  }
}

/// Calls visit with that and whether a ReLU follows, as a type.
template <typename Visit>
SKYLINE_INLINE void with_type_of(const Values& values, bool relu, const Visit& visit) {
  with_type_of(values, [&](auto type) SKYLINE_INLINED {
    if (relu) {
      visit(type, std::true_type{});
    } else {
      visit(type, std::false_type{});
    }
  });
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

/// Writes the sums of all chains, lane by lane.
template <typename V, std::size_t kBlocks, std::size_t kChains>
SKYLINE_INLINE void store_sums(const V (&partial)[kChains][kBlocks], float* sums) {
  for (std::size_t b = 0; b < kBlocks; ++b) {
    V together = partial[0][b];
    for (std::size_t k = 1; k < kChains; ++k) {
      together += partial[k][b];
    }
    store(sums + b * lanes_of<V>(), together);
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
