#include "store/images/image_formats.hpp"

#include <utility>

namespace skyline::store {
namespace {

using namespace std::literals;

/// Reads numbers of EXIF's TIFF structure, which states its own byte order.
class TiffNumbers {
 public:
  explicit TiffNumbers(std::string_view tiff) : tiff_(tiff), little_(tiff.starts_with("II*\0"sv)) {}
  bool is_tiff() const { return little_ || tiff_.starts_with("MM\0*"sv); }
  /// Returns the number, or 0 after the end. @param bytes  2 or 4
  std::size_t at(std::size_t place, std::size_t bytes) const {
    if (place > tiff_.size() || bytes > tiff_.size() - place) return 0;
    std::size_t value = 0;
    for (std::size_t i = 0; i < bytes; ++i) {
      const char byte = tiff_[place + (little_ ? bytes - 1 - i : i)];
      value = value << 8 | static_cast<std::uint8_t>(byte);
    }
    return value;
  }

 private:
  std::string_view tiff_;
  bool little_;
};

}  // namespace

int exif_orientation(std::string_view exif) {
  constexpr std::size_t kEntryBytes = 12;
  constexpr std::size_t kOrientationTag = 0x0112;
  constexpr std::string_view kStart = "Exif\0\0"sv;
  const TiffNumbers tiff(exif.starts_with(kStart) ? exif.substr(kStart.size()) : std::string_view());
  if (!tiff.is_tiff()) return 1;
  const std::size_t directory = tiff.at(4, 4);
  const std::size_t entries = tiff.at(directory, 2);
  for (std::size_t i = 0; i < entries; ++i) {
    const std::size_t entry = directory + 2 + i * kEntryBytes;
    if (tiff.at(entry, 2) != kOrientationTag) continue;
    const std::size_t value = tiff.at(entry + 8, 2);
    return value >= 1 && value <= 8 ? static_cast<int>(value) : 1;
  }
  return 1;
}

Image turned(Image image, int orientation) {
  if (orientation == 1) return image;
  const bool rows_are_columns = orientation >= 5;
  const bool upside_down = orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
  const bool right_to_left = orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
  Image result{image.channels, image.height, image.width, {}};
  if (rows_are_columns) std::swap(result.height, result.width);
  result.pixels.reserve(image.pixels.size());
  for (std::size_t y = 0; y < result.height; ++y) {
    for (std::size_t x = 0; x < result.width; ++x) {
      const std::size_t row = rows_are_columns ? x : y;
      const std::size_t column = rows_are_columns ? y : x;
      const std::size_t from_row = upside_down ? image.height - 1 - row : row;
      const std::size_t from_column = right_to_left ? image.width - 1 - column : column;
      const std::uint8_t* pixel =
          image.pixels.data() + (from_row * image.width + from_column) * image.channels;
      result.pixels.insert(result.pixels.end(), pixel, pixel + image.channels);
    }
  }
  return result;
}

}  // namespace skyline::store
