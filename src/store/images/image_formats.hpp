#pragma once

#include "store/images/image.hpp"

namespace skyline::store {

struct ImageHeader {
  space::Shape shape;   // shape of the pixels as they are stored
  int orientation = 1;  // EXIF's orientation: 1 is as stored, up to 8 mirrored or turned
};

/// Reads the header of a file that begins with `start`. Returns nullopt if that is too short. @throws
/// UserError
using ReadHeader = std::optional<ImageHeader> (*)(std::string_view start);
/// Fills the pixels of an image that has the shape of the header. @throws UserError
using Decode = void (*)(std::string_view file, Image& image);

std::optional<ImageHeader> png_header(std::string_view start);
void decode_png(std::string_view file, Image& image);
std::optional<ImageHeader> jpeg_header(std::string_view start);
void decode_jpeg(std::string_view file, Image& image);
std::optional<ImageHeader> webp_header(std::string_view start);
void decode_webp(std::string_view file, Image& image);
/// PBM, PGM and PPM files with one image, binary or as text: P1 to P6.
bool is_pnm(std::string_view start);
std::optional<ImageHeader> pnm_header(std::string_view start);
void decode_pnm(std::string_view file, Image& image);

/// Returns the orientation in the EXIF part of a file, from 1 to 8, or 1 if there is none.
/// @param exif  the part from "Exif" on
int exif_orientation(std::string_view exif);
/// Returns the image as it is shown.
Image turned(Image image, int orientation);

/// Returns a big-endian number of `bytes` bytes.
inline std::int64_t big_endian(std::string_view text, std::size_t place, std::size_t bytes) {
  std::int64_t value = 0;
  for (std::size_t i = 0; i < bytes; ++i) value = value << 8 | static_cast<std::uint8_t>(text[place + i]);
  return value;
}

}  // namespace skyline::store
