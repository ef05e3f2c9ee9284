#include "space/layers/layers.hpp"

namespace skyline::space {

std::int64_t sliding_output(std::int64_t input, std::int64_t kernel, std::int64_t stride,
                            std::int64_t padding) {
  return (input + 2 * padding - kernel) / stride + 1;
}

std::int64_t bounded_product(AttributeReader& reader, std::initializer_list<std::int64_t> factors) {
  constexpr std::int64_t kLargest = std::int64_t{1} << 48;
  std::int64_t product = 1;
  for (const std::int64_t factor : factors) {
    const bool overflow = __builtin_mul_overflow(product, factor, &product);
    if (overflow || product > kLargest) reader.fail("the layer is too large");
  }
  return product;
}

}  // namespace skyline::space
