#pragma once

#include "skyline/space/network.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace skyline::store {

/// A picture of 8 bits per value. Transparency is dropped, as `convert("RGB")` of Pillow does.
struct Image {
  std::size_t channels = 0;  // 1: grey, 3: red, green, blue
  std::size_t height = 0;
  std::size_t width = 0;
  std::vector<std::uint8_t> pixels;  // [height, width, channels]

  space::Shape shape() const {
    return {static_cast<std::int64_t>(channels), static_cast<std::int64_t>(height),
            static_cast<std::int64_t>(width)};
  }
  /// Writes the values as [channels, height, width].
  void copy_planes(std::uint8_t* planes) const;
};

// Bounds on what a file may claim, checked before memory is taken.
inline constexpr std::int64_t kMostSide = 1 << 15;
inline constexpr std::int64_t kMostPixels = 1 << 26;
inline constexpr std::size_t kMostImageBytes = std::size_t{1} << 29;  // of a file

/// Whether a file that begins so is of a known format.
bool is_image(std::string_view start);

/// Reads channels, height and width, as the image is shown, from the beginning of a PNG, JPEG, WebP, PGM or
/// PPM file.
/// @return  nothing if they come later in the file
/// @throws UserError, without the file's name: of no known format, damaged, too large
std::optional<space::Shape> image_shape(std::string_view start);

/// Decodes a whole file, and turns it as the EXIF part of a JPEG says. Any thread. @throws UserError, without
/// the file's name
Image decode_image(std::string_view file);

/// The same of a file. @throws UserError, as above; FaultError
space::Shape read_image_shape(const std::filesystem::path& path);
Image read_image(const std::filesystem::path& path);

/// The image without its colours. The values are those of Pillow's `convert("L")`.
Image grey(Image image);

/// How an image gets another size.
enum class Fit {
  kResize,  // height and width each on its own
  kCrop,    // scaled to cover the size, then the middle of it
};

/// The image in another size: bilinear, with the support of a pixel as large as the reduction (antialiased).
/// The values are those of Pillow's `resize(size, BILINEAR)`.
/// @see J. A. Clark and others, Pillow, src/libImaging/Resample.c
Image resized(const Image& image, std::size_t height, std::size_t width, Fit fit);

}  // namespace skyline::store
