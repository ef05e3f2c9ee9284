#include "store/images/image.hpp"

#include <algorithm>
#include <cmath>

namespace skyline::store {
namespace {

constexpr int kWeightBits = 22;

/// The pixels of a line from which one pixel of the result is computed, and their weights.
struct Support {
  std::size_t first = 0;
  std::vector<std::int32_t> weights;  // weights times 2^kWeightBits
};

/// A part of a scaled line.
struct Window {
  std::size_t scaled = 0;  // length of the whole scaled line
  std::size_t first = 0;
  std::size_t count = 0;

  bool is_all_of(std::size_t pixels) const { return scaled == pixels && count == pixels; }
};

/// Computes the filter only for pixels inside the window, as the full line may be thousands of times longer.
std::vector<Support> supports_of(std::size_t in, const Window& window) {
  const double scale = static_cast<double>(in) / static_cast<double>(window.scaled);
  const double radius = std::max(scale, 1.0);
  std::vector<Support> supports(window.count);
  std::vector<double> weights;
  for (std::size_t i = 0; i < window.count; ++i) {
    const double centre = (static_cast<double>(window.first + i) + 0.5) * scale;
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

/// @param step  distance between two values in the direction of the filter
std::uint8_t blend(const std::uint8_t* line, std::size_t step, const Support& support) {
  std::int32_t sum = 1 << (kWeightBits - 1);
  const std::uint8_t* from = line + support.first * step;
  for (std::size_t i = 0; i < support.weights.size(); ++i) sum += support.weights[i] * from[i * step];
  return static_cast<std::uint8_t>(std::clamp(sum >> kWeightBits, 0, 255));
}

Image with_width(const Image& image, const Window& columns) {
  Image result{image.channels, image.height, columns.count, {}};
  result.pixels.resize(image.channels * image.height * columns.count);
  const std::vector<Support> supports = supports_of(image.width, columns);
  std::uint8_t* to = result.pixels.data();
  for (std::size_t y = 0; y < image.height; ++y) {
    const std::uint8_t* row = image.pixels.data() + y * image.width * image.channels;
    for (const Support& support : supports) {
      for (std::size_t c = 0; c < image.channels; ++c) *to++ = blend(row + c, image.channels, support);
    }
  }
  return result;
}

Image with_height(const Image& image, const Window& rows) {
  Image result{image.channels, rows.count, image.width, {}};
  const std::size_t row = image.width * image.channels;
  result.pixels.resize(rows.count * row);
  std::uint8_t* to = result.pixels.data();
  for (const Support& support : supports_of(image.height, rows)) {
    for (std::size_t i = 0; i < row; ++i) *to++ = blend(image.pixels.data() + i, row, support);
  }
  return result;
}

Image scaled(const Image& image, const Window& rows, const Window& columns) {
  Image result = columns.is_all_of(image.width) ? image : with_width(image, columns);
  return rows.is_all_of(image.height) ? result : with_height(result, rows);
}

/// Halves a number and rounds as Python's `round` does: a half goes to the even number.
std::size_t half(std::size_t number) {
  const std::size_t whole = number / 2;
  return whole + (number % 2 == 1 && whole % 2 == 1 ? 1 : 0);
}

Window middle(std::size_t scaled, std::size_t count) {
  return {scaled, half(scaled - count), count};
}

}  // namespace

Image resized(const Image& image, std::size_t height, std::size_t width, Fit fit) {
  if (fit == Fit::kResize) return scaled(image, {height, 0, height}, {width, 0, width});
  // One side fits and the other is cut, as in torchvision's Resize and CenterCrop for a square.
  const bool width_fits = image.width * height <= image.height * width;
  const std::size_t scaled_height = width_fits ? image.height * width / image.width : height;
  const std::size_t scaled_width = width_fits ? width : image.width * height / image.height;
  return scaled(image, middle(scaled_height, height), middle(scaled_width, width));
}

}  // namespace skyline::store
