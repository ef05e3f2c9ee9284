#include "skyline/core/error.hpp"

#include "store/images/image_formats.hpp"

#include <webp/decode.h>

namespace skyline::store {
namespace {

const std::uint8_t* webp_bytes(std::string_view file) {
  return reinterpret_cast<const std::uint8_t*>(file.data());
}

}  // namespace

/// Reads the header. The format has no grey, so it always states colour.
std::optional<ImageHeader> webp_header(std::string_view start) {
  WebPBitstreamFeatures features{};
  const VP8StatusCode status = WebPGetFeatures(webp_bytes(start), start.size(), &features);
  if (status == VP8_STATUS_NOT_ENOUGH_DATA) return std::nullopt;
  if (status != VP8_STATUS_OK) throw UserError("damaged WebP header");
  if (features.has_animation != 0) throw UserError("an animated WebP, expected one image");
  return ImageHeader{{3, features.height, features.width}};
}

void decode_webp(std::string_view file, Image& image) {
  const auto stride = static_cast<int>(3 * image.width);
  if (WebPDecodeRGBInto(webp_bytes(file), file.size(), image.pixels.data(), image.pixels.size(), stride) ==
      nullptr) {
    throw UserError("damaged or truncated WebP");
  }
}

}  // namespace skyline::store
