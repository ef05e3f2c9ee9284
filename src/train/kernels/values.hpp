#pragma once

#include "skyline/core/random_engine.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace skyline::train {

/// The kernels that run where both exist: our own (CPU only), or ATen's and those of DeviceKernels (any
/// device).
enum class Kernels { kOwn, kAten };

namespace kernels {

/// A number with the upper half of the bits of a float.
struct BFloat16 {
  std::uint16_t bits;
};

/// Rounds floats, one or a vector of them, to the nearest bfloat16 (to even in the middle). The bits are
/// returned in the lower halves. A NaN stays a NaN.
template <typename Bits>
SKYLINE_DEVICE_CODE inline __attribute__((always_inline)) Bits rounded_to_bfloat16(Bits bits) {
  const Bits nearest = (bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16;
  return (bits & 0x7fffffffU) > 0x7f800000U ? Bits{} + 0x7fc0U : nearest;
}

/// Values of an activation in memory: float32 or bfloat16. Kernels compute with floats.
struct Values {
  void* data = nullptr;
  bool bfloat16 = false;

  SKYLINE_DEVICE_CODE float at(std::size_t index) const {
    if (!bfloat16) return static_cast<const float*>(data)[index];
    const std::uint32_t bits = static_cast<std::uint32_t>(static_cast<const BFloat16*>(data)[index].bits)
                               << 16;
    float value = 0;
    std::memcpy(&value, &bits, sizeof(value));
    return value;
  }

  SKYLINE_DEVICE_CODE void set(std::size_t index, float value) const {
    if (!bfloat16) {
      static_cast<float*>(data)[index] = value;
      return;
    }
    std::uint32_t bits = 0;
    std::memcpy(&bits, &value, sizeof(bits));
    static_cast<BFloat16*>(data)[index].bits = static_cast<std::uint16_t>(rounded_to_bfloat16(bits));
  }
};

}  // namespace kernels
}  // namespace skyline::train
