#pragma once

#include "store/images/image.hpp"

namespace skyline::store {

/// The shape in the header of a file that begins with `start`; nothing if `start` ends before it.
/// @throws UserError
using ReadShape = std::optional<space::Shape> (*)(std::string_view start);
/// Fills the pixels of an image whose shape is that of the header. @throws UserError
using Decode = void (*)(std::string_view file, Image& image);

std::optional<space::Shape> png_shape(std::string_view start);
void decode_png(std::string_view file, Image& image);
std::optional<space::Shape> jpeg_shape(std::string_view start);
void decode_jpeg(std::string_view file, Image& image);
std::optional<space::Shape> webp_shape(std::string_view start);
void decode_webp(std::string_view file, Image& image);
/// Binary PGM (P5) and PPM (P6) of one image.
std::optional<space::Shape> pnm_shape(std::string_view start);
void decode_pnm(std::string_view file, Image& image);

/// A big-endian number of `bytes` bytes.
inline std::int64_t big_endian(std::string_view text, std::size_t place, std::size_t bytes) {
  std::int64_t value = 0;
  for (std::size_t i = 0; i < bytes; ++i) value = value << 8 | static_cast<std::uint8_t>(text[place + i]);
  return value;
}

}  // namespace skyline::store
