#include "train/kernels/dropout.hpp"

#include "train/kernels/lanes.hpp"

namespace skyline::train::kernels {

SKYLINE_MULTI_TARGET void dropout(const DropoutMask& mask, std::size_t count, const float* source,
                                  float* target) {
  constexpr std::size_t kPairs = 16;
  constexpr std::size_t kBlock = 2 * kPairs;
  const DropoutMask m = mask;
  const auto element = [&](std::size_t i) {
    target[i] = is_kept(m, m.first + i) ? source[i] * m.scale : 0.0F;
  };
  std::size_t start = 0;
  if (m.first % 2 == 1 && count > 0) {
    element(start++);
  }
  for (; start + kBlock <= count; start += kBlock) {
    float values[kBlock];  // a copy, so that the compiler need not assume that source and target overlap
    std::memcpy(values, source + start, sizeof(values));
    for (std::size_t pair = 0; pair < kPairs; ++pair) {
      const std::uint64_t bits = split_mix_at(m.seed, (m.first + start) / 2 + pair);
      const bool first = static_cast<std::uint32_t>(bits) >= m.threshold;
      const bool second = static_cast<std::uint32_t>(bits >> 32) >= m.threshold;
      values[2 * pair] = first ? values[2 * pair] * m.scale : 0.0F;
      values[2 * pair + 1] = second ? values[2 * pair + 1] * m.scale : 0.0F;
    }
    std::memcpy(target + start, values, sizeof(values));
  }
  for (; start < count; ++start) {
    element(start);
  }
}

}  // namespace skyline::train::kernels
