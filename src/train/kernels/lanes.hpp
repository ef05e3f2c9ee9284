#pragma once

#include "core/multi_target.hpp"
#include "train/kernels/values.hpp"

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

/// Fixed-width vectors of floats for kernels. The compiler maps them to the registers of each target, so the
/// order of every sum is the same on every machine. Include this only in files compiled with -Wno-psabi.
namespace skyline::train::kernels {

// NOLINTBEGIN: compiler vectors
typedef float Lanes16 __attribute__((vector_size(64)));
typedef float Lanes8 __attribute__((vector_size(32)));
typedef std::uint32_t Bits16 __attribute__((vector_size(64)));
typedef std::uint32_t Bits8 __attribute__((vector_size(32)));
typedef std::uint16_t Halves32 __attribute__((vector_size(64)));
typedef std::uint16_t Halves16 __attribute__((vector_size(32)));
typedef std::uint16_t Halves8 __attribute__((vector_size(16)));
// NOLINTEND

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

/// bfloat16 numbers on a processor with AVX-512BW, where one shuffle turns 16 of them into floats, and
/// another one back. The usual conversions take four instructions; without AVX-512BW a shuffle takes dozens.
struct ShuffledBFloat16 : BFloat16 {};

template <typename V, typename Number>
constexpr bool is_shuffled = std::is_same_v<V, Lanes16>&& std::is_same_v<Number, ShuffledBFloat16>;

SKYLINE_INLINE Bits16 upper_halves(Halves16 halves) {
  return std::bit_cast<Bits16>(__builtin_shufflevector(halves, Halves16{}, 16, 0, 16, 1, 16, 2, 16, 3, 16, 4,
                                                       16, 5, 16, 6, 16, 7, 16, 8, 16, 9, 16, 10, 16, 11, 16,
                                                       12, 16, 13, 16, 14, 16, 15));
}
SKYLINE_INLINE Halves16 lower_halves(Bits16 bits) {
  const auto halves = std::bit_cast<Halves32>(bits);
  return __builtin_shufflevector(halves, halves, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
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

template <typename V, typename Number>
requires std::derived_from<Number, BFloat16> SKYLINE_INLINE V load(const Number* source) {
  if constexpr (sizeof(V) == sizeof(float)) {
    return std::bit_cast<V>(static_cast<std::uint32_t>(source->bits) << 16);
  } else {
    typename BitsOf<V>::Half halves;
    std::memcpy(&halves, source, sizeof(halves));
    if constexpr (is_shuffled<V, Number>) {
      return std::bit_cast<V>(upper_halves(halves));
    } else {
      return std::bit_cast<V>(__builtin_convertvector(halves, typename BitsOf<V>::Whole) << 16);
    }
  }
}

template <typename V, typename Number>
requires std::derived_from<Number, BFloat16> SKYLINE_INLINE void store(Number* target, V value) {
  if constexpr (sizeof(V) == sizeof(float)) {
    target->bits = static_cast<std::uint16_t>(rounded_to_bfloat16(std::bit_cast<std::uint32_t>(value)));
  } else {
    const auto rounded = rounded_to_bfloat16(std::bit_cast<typename BitsOf<V>::Whole>(value));
    typename BitsOf<V>::Half halves;
    if constexpr (is_shuffled<V, Number>) {
      halves = lower_halves(rounded);
    } else {
      halves = __builtin_convertvector(rounded, typename BitsOf<V>::Half);
    }
    std::memcpy(target, &halves, sizeof(halves));
  }
}

/// Returns whether shuffles are faster than conversions on this processor.
inline bool shuffles() {
#if defined(__x86_64__) && !defined(__clang__)
  return __builtin_cpu_supports("x86-64-v4") != 0;
#else
  return false;
#endif
}

/// Calls visit with a value of the type of the elements. Write the lambda with SKYLINE_INLINED.
template <typename Visit>
SKYLINE_INLINE void with_type_of(const Values& values, const Visit& visit) {
  if (!values.bfloat16) {
    visit(float{});
  } else if (shuffles()) {
    visit(ShuffledBFloat16{});
  } else {
    visit(BFloat16{});
  }
}

/// Calls visit with such a value and, as a type, whether a ReLU follows.
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

/// Number of independent sums per piece. Four in all hide the latency of additions.
template <std::size_t kBlocks>
constexpr std::size_t chains_for() {
  return kBlocks >= 4 ? 1 : 4 / kBlocks;
}

/// Writes the sums of all chains, lane by lane.
template <typename V, std::size_t kBlocks, std::size_t kChains>
SKYLINE_INLINE void store_sums(const V (&partial)[kChains][kBlocks], float* sums) {
  for (std::size_t b = 0; b < kBlocks; ++b) {
    V together = partial[0][b];
    for (std::size_t k = 1; k < kChains; ++k) together += partial[k][b];
    store(sums + b * lanes_of<V>(), together);
  }
}

/// Calls body.template run<V, kBlocks>(channel) so that every channel is covered once, widest pieces first.
template <typename Body>
SKYLINE_INLINE void for_channel_pieces(std::size_t channels, const Body& body) {
  std::size_t channel = 0;
  for (; channel + 64 <= channels; channel += 64) body.template run<Lanes16, 4>(channel);
  for (; channel + 32 <= channels; channel += 32) body.template run<Lanes16, 2>(channel);
  for (; channel + 16 <= channels; channel += 16) body.template run<Lanes16, 1>(channel);
  for (; channel + 8 <= channels; channel += 8) body.template run<Lanes8, 1>(channel);
  for (; channel < channels; ++channel) body.template run<float, 1>(channel);
}

}  // namespace skyline::train::kernels
