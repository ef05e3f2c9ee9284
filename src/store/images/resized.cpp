#include "store/images/image.hpp"

#include <algorithm>
#include <cmath>

namespace skyline::store {
namespace {

constexpr int kWeightBits = 22;

/// The pixels of a line that one pixel of the result is made of, and their weights.
struct Support {
  std::size_t first = 0;
  std::vector<std::int32_t> weights;  // times 2^kWeightBits
};

std::vector<Support> supports_of(std::size_t in, std::size_t out) {
  const double scale = static_cast<double>(in) / static_cast<double>(out);
  const double radius = std::max(scale, 1.0);
  std::vector<Support> supports(out);
  std::vector<double> weights;
  for (std::size_t i = 0; i < out; ++i) {
    const double centre = (static_cast<double>(i) + 0.5) * scale;
    const auto first = static_cast<std::size_t>(std::max(centre - radius + 0.5, 0.0));
    const auto end = std::min(static_cast<std::size_t>(centre + radius + 0.5), in);
    weights.clear();
    double sum = 0;
    for (std::size_t x = first; x < end; ++x) {
      const double distance = std::abs((static_cast<double>(x) - centre + 0.5) * (1.0 / radius));
      weights.push_back(std::max(1.0 - distance, 0.0));
      sum += weights.back();
    }
    supports[i].first = first;
    for (const double weight : weights) {
      supports[i].weights.push_back(static_cast<std::int32_t>(0.5 + weight / sum * (1 << kWeightBits)));
    }
  }
  return supports;
}

/// @param step  from one value to the next in the direction of the support
std::uint8_t blend(const std::uint8_t* line, std::size_t step, const Support& support) {
  std::int32_t sum = 1 << (kWeightBits - 1);
  const std::uint8_t* from = line + support.first * step;
  for (std::size_t i = 0; i < support.weights.size(); ++i) sum += support.weights[i] * from[i * step];
  return static_cast<std::uint8_t>(std::clamp(sum >> kWeightBits, 0, 255));
}

Image with_width(const Image& image, std::size_t width) {
  Image result{image.channels, image.height, width, {}};
  result.pixels.resize(image.channels * image.height * width);
  const std::vector<Support> supports = supports_of(image.width, width);
  std::uint8_t* to = result.pixels.data();
  for (std::size_t y = 0; y < image.height; ++y) {
    const std::uint8_t* row = image.pixels.data() + y * image.width * image.channels;
    for (const Support& support : supports) {
      for (std::size_t c = 0; c < image.channels; ++c) *to++ = blend(row + c, image.channels, support);
    }
  }
  return result;
}

Image with_height(const Image& image, std::size_t height) {
  Image result{image.channels, height, image.width, {}};
  const std::size_t row = image.width * image.channels;
  result.pixels.resize(height * row);
  std::uint8_t* to = result.pixels.data();
  for (const Support& support : supports_of(image.height, height)) {
    for (std::size_t i = 0; i < row; ++i) *to++ = blend(image.pixels.data() + i, row, support);
  }
  return result;
}

Image stretched(const Image& image, std::size_t height, std::size_t width) {
  Image result = image.width == width ? image : with_width(image, width);
  return result.height == height ? result : with_height(result, height);
}

/// Half of a number, rounded as Python's `round` does: to the even one of two.
std::size_t half(std::size_t number) {
  const std::size_t whole = number / 2;
  return whole + (number % 2 == 1 && whole % 2 == 1 ? 1 : 0);
}

Image middle(const Image& image, std::size_t height, std::size_t width) {
  Image result{image.channels, height, width, {}};
  const std::size_t top = half(image.height - height);
  const std::size_t left = half(image.width - width);
  for (std::size_t y = 0; y < height; ++y) {
    const auto row =
        image.pixels.begin() + static_cast<std::ptrdiff_t>(((top + y) * image.width + left) * image.channels);
    result.pixels.insert(result.pixels.end(), row, row + static_cast<std::ptrdiff_t>(width * image.channels));
  }
  return result;
}

}  // namespace

Image resized(const Image& image, std::size_t height, std::size_t width, Fit fit) {
  if (fit == Fit::kResize) return stretched(image, height, width);
  // As torchvision's Resize and CenterCrop do for a square: one side fits, the other is cut.
  const bool width_fits = image.width * height <= image.height * width;
  const std::size_t scaled_height = width_fits ? image.height * width / image.width : height;
  const std::size_t scaled_width = width_fits ? width : image.width * height / image.height;
  return middle(stretched(image, scaled_height, scaled_width), height, width);
}

}  // namespace skyline::store
