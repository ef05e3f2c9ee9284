#pragma once

#include "skyline/space/network.hpp"

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace skyline::store {

/// The different values of images with more than 8 bits per value, and what they become.
struct DeepValues {
  std::bitset<1 << 16> stored;
  std::bitset<1 << 8> kept;

  void add(std::size_t value, std::uint8_t becomes) {
    stored.set(value);
    kept.set(becomes);
  }
  void add(const DeepValues& others) {
    stored |= others.stored;
    kept |= others.kept;
  }
};

/// A picture with 8 bits per value. Transparency is dropped, as in Pillow's `convert("RGB")`.
struct Image {
  std::size_t channels = 0;  // 1 for grey, 3 for red, green, blue
  std::size_t height = 0;
  std::size_t width = 0;
  std::vector<std::uint8_t> pixels;             // [height, width, channels]
  std::shared_ptr<const DeepValues> deep = {};  // of a file with more bits per value, else null

  space::Shape shape() const {
    return {static_cast<std::int64_t>(channels), static_cast<std::int64_t>(height),
            static_cast<std::int64_t>(width)};
  }
  /// Writes the values as [channels, height, width].
  void copy_planes(std::uint8_t* planes) const;
};

// Limits for what a file may claim, checked before memory is taken.
inline constexpr std::int64_t kMostSide = 1 << 15;
inline constexpr std::int64_t kMostPixels = 1 << 26;
inline constexpr std::size_t kMostImageBytes = std::size_t{1} << 29;  // size of a file

/// Returns whether the start of a file shows a known format.
bool is_image(std::string_view start);
/// Returns the kind of an image of another format, e.g. "BMP", by the start of its file, or an empty text.
std::string_view foreign_image_kind(std::string_view start);

/// Returns the ending of a file's name in small letters: ".png", or "without an ending".
std::string ending_of(const std::filesystem::path& path);

/// What a file is that cannot be read as an image.
struct OtherKind {
  std::string name;  // "BMP", or the ending ".txt"
  bool is_image = false;
};
/// Returns nullopt if the file should be an image by its content or its name: then it is damaged. So is one
/// that cannot be opened.
std::optional<OtherKind> other_kind(const std::filesystem::path& path);

/// Reads channels, height and width of the image as it is shown, from the beginning of a PNG, JPEG, WebP,
/// PBM, PGM or PPM file. Returns nullopt if they come later in the file.
/// @throws UserError, without the file's name, for an unknown format, a damaged or a too large image
std::optional<space::Shape> image_shape(std::string_view start);

/// Decodes a whole file, and turns the image as the EXIF part of a JPEG says. Any thread may call it.
/// @throws UserError, without the file's name
Image decode_image(std::string_view file);

/// Reads the shape of an image file. @throws UserError as above, FaultError
space::Shape read_image_shape(const std::filesystem::path& path);
Image read_image(const std::filesystem::path& path);

/// Returns the image without its colours, with the values of Pillow's `convert("L")`.
Image grey(Image image);

/// Ways to give an image another size.
enum class Fit {
  kResize,  // height and width are scaled separately
  kCrop,    // scaled to cover the size, then cut to its middle
};

/// Returns the image in another size: bilinear, antialiased by a support that grows with the reduction. The
/// values are those of Pillow's `resize(size, BILINEAR)`.
/// @see J. A. Clark and others, Pillow, src/libImaging/Resample.c
Image resized(const Image& image, std::size_t height, std::size_t width, Fit fit);

}  // namespace skyline::store
