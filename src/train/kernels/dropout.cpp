#include "train/kernels/dropout.hpp"

#include "train/kernels/chunks.hpp"
#include "train/kernels/lanes.hpp"

namespace skyline::train::kernels {
namespace {

constexpr std::size_t kPairs = 16;
constexpr std::size_t kBlock = 2 * kPairs;

/// Handles a block of elements, whose first one shares its random number with the second.
/// @param position  place of the first element in the batch's activation
template <typename T>
SKYLINE_INLINE void drop_block(const DropoutMask& mask, std::size_t position, const T* source, T* target) {
  float values[kBlock];  // a copy, so that the compiler knows that source and target do not overlap
  for (std::size_t i = 0; i < kBlock; i += lanes_of<Lanes16>()) store(values + i, load<Lanes16>(source + i));
  for (std::size_t pair = 0; pair < kPairs; ++pair) {
    const std::uint64_t bits = split_mix_at(mask.seed, position / 2 + pair);
    const bool first = static_cast<std::uint32_t>(bits) >= mask.threshold;
    const bool second = static_cast<std::uint32_t>(bits >> 32) >= mask.threshold;
    values[2 * pair] = first ? values[2 * pair] * mask.scale : 0.0F;
    values[2 * pair + 1] = second ? values[2 * pair + 1] * mask.scale : 0.0F;
  }
  for (std::size_t i = 0; i < kBlock; i += lanes_of<Lanes16>()) store(target + i, load<Lanes16>(values + i));
}

template <typename T>
SKYLINE_INLINE void drop_range(const DropoutMask& mask, std::size_t begin, std::size_t end, const T* source,
                               T* target) {
  const auto element = [&](std::size_t i) SKYLINE_INLINED {
    store(target + i, is_kept(mask, mask.first + i) ? load<float>(source + i) * mask.scale : 0.0F);
  };
  std::size_t i = begin;
  if ((mask.first + i) % 2 == 1 && i < end) element(i++);
  for (; i + kBlock <= end; i += kBlock) drop_block(mask, mask.first + i, source + i, target + i);
  for (; i < end; ++i) element(i);
}

SKYLINE_MULTI_TARGET void drop_part(const DropoutMask& mask, std::size_t begin, std::size_t end,
                                    const Values& source, const Values& target) {
  const DropoutMask own = mask;
  with_type_of(source, [&](auto type) SKYLINE_INLINED {
    drop_range(own, begin, end, static_cast<const decltype(type)*>(source.data),
               static_cast<decltype(type)*>(target.data));
  });
}

}  // namespace

void dropout(const DropoutMask& mask, std::size_t count, const Values& source, const Values& target) {
  constexpr std::size_t kPart = 4096;
  in_parallel((count + kPart - 1) / kPart, kPart, [&](std::size_t first, std::size_t last) {
    drop_part(mask, first * kPart, std::min(count, last * kPart), source, target);
  });
}

}  // namespace skyline::train::kernels
