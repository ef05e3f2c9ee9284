#include "store/images/image.hpp"

#include "skyline/core/error.hpp"

#include "store/images/image_formats.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace skyline::store {
namespace {

using namespace std::literals;

struct Magic {
  std::string_view bytes;
  std::size_t place;  // place of these bytes in the file
};

bool begins(std::string_view start, const Magic& magic) {
  return start.size() >= magic.place && start.substr(magic.place).starts_with(magic.bytes);
}

struct ImageFormat {
  Magic magic;
  ReadHeader header;
  Decode decode;
};
constexpr std::array kFormats{ImageFormat{{"\x89PNG\r\n\x1a\n"sv, 0}, png_header, decode_png},
                              ImageFormat{{"\xff\xd8\xff"sv, 0}, jpeg_header, decode_jpeg},
                              ImageFormat{{"WEBP"sv, 8}, webp_header, decode_webp}};

struct ForeignFormat {
  std::string_view kind;
  Magic magic;
};
/// Formats that others read.
constexpr std::array kForeignFormats{ForeignFormat{"GIF", {"GIF8"sv, 0}},
                                     ForeignFormat{"TIFF", {"II*\0"sv, 0}},
                                     ForeignFormat{"TIFF", {"MM\0*"sv, 0}},
                                     ForeignFormat{"TIFF", {"II+\0"sv, 0}},
                                     ForeignFormat{"TIFF", {"MM\0+"sv, 0}},
                                     ForeignFormat{"HEIC", {"ftyphei"sv, 4}},
                                     ForeignFormat{"HEIC", {"ftypmif1"sv, 4}},
                                     ForeignFormat{"AVIF", {"ftypavi"sv, 4}},
                                     ForeignFormat{"JPEG 2000", {"\0\0\0\x0cjP  "sv, 0}},
                                     ForeignFormat{"JPEG 2000", {"\xff\x4f\xff\x51"sv, 0}},
                                     ForeignFormat{"JPEG XL", {"\0\0\0\x0cJXL "sv, 0}},
                                     ForeignFormat{"JPEG XL", {"\xff\x0a"sv, 0}},
                                     ForeignFormat{"ICO", {"\0\0\1\0"sv, 0}},
                                     ForeignFormat{"PSD", {"8BPS"sv, 0}},
                                     ForeignFormat{"PAM", {"P7\n"sv, 0}},
                                     ForeignFormat{"DICOM", {"DICM"sv, 128}}};

const ImageFormat* known_format(std::string_view start) {
  static constexpr ImageFormat kPnm{{}, pnm_header, decode_pnm};
  if (is_pnm(start)) return &kPnm;
  const auto known =
      std::ranges::find_if(kFormats, [&](const ImageFormat& format) { return begins(start, format.magic); });
  return known == kFormats.end() ? nullptr : &*known;
}

const ImageFormat& format_of(std::string_view start) {
  if (const ImageFormat* const known = known_format(start)) return *known;
  throw UserError(start.empty() ? "the file is empty" : "not a PNG, JPEG, WebP, PBM, PGM or PPM image");
}

std::optional<ImageHeader> checked_header(std::string_view start) {
  const std::optional<ImageHeader> header = format_of(start).header(start);
  if (!header) return std::nullopt;
  const space::Shape& shape = header->shape;
  const std::string size = std::to_string(shape.height) + " x " + std::to_string(shape.width);
  if (shape.height < 1 || shape.width < 1) throw UserError("an image of " + size + " pixels");
  if (std::max(shape.height, shape.width) > kMostSide || shape.height * shape.width > kMostPixels) {
    throw UserError("expected at most " + std::to_string(kMostSide) + " pixels a side and " +
                    std::to_string(kMostPixels) + " in all, got " + size);
  }
  return header;
}

}  // namespace

Image grey(Image image) {
  if (image.channels == 1) return image;
  // weights in units of 2^-16, from ITU-R 601
  constexpr std::array<std::uint32_t, 3> kWeights{19595, 38470, 7471};
  std::vector<std::uint8_t> pixels(image.height * image.width);
  for (std::size_t i = 0; i < pixels.size(); ++i) {
    std::uint32_t sum = 1U << 15U;
    for (std::size_t channel = 0; channel < kWeights.size(); ++channel)
      sum += kWeights[channel] * image.pixels[3 * i + channel];
    pixels[i] = static_cast<std::uint8_t>(sum >> 16U);
  }
  return {1, image.height, image.width, std::move(pixels)};
}

void Image::copy_planes(std::uint8_t* planes) const {
  const std::size_t plane = height * width;
  for (std::size_t channel = 0; channel < channels; ++channel) {
    const std::uint8_t* from = pixels.data() + channel;
    for (std::size_t i = 0; i < plane; ++i) planes[channel * plane + i] = from[i * channels];
  }
}

bool is_image(std::string_view start) {
  return known_format(start) != nullptr;
}

std::string_view foreign_image_kind(std::string_view start) {
  // The letters "BM" alone also begin texts; behind them a BMP file has its size and two numbers that are 0.
  if (start.starts_with("BM"sv) && begins(start, {"\0\0\0\0"sv, 6})) return "BMP";
  const auto known = std::ranges::find_if(
      kForeignFormats, [&](const ForeignFormat& format) { return begins(start, format.magic); });
  return known == kForeignFormats.end() ? std::string_view() : known->kind;
}

std::optional<space::Shape> image_shape(std::string_view start) {
  const std::optional<ImageHeader> header = checked_header(start);
  if (!header) return std::nullopt;
  space::Shape shape = header->shape;
  if (header->orientation >= 5) std::swap(shape.height, shape.width);
  return shape;
}

Image decode_image(std::string_view file) {
  const std::optional<ImageHeader> header = checked_header(file);
  if (!header) throw UserError("truncated");
  const space::Shape& shape = header->shape;
  Image image{static_cast<std::size_t>(shape.channels),
              static_cast<std::size_t>(shape.height),
              static_cast<std::size_t>(shape.width),
              {}};
  image.pixels.resize(image.channels * image.height * image.width);
  format_of(file).decode(file, image);
  return turned(std::move(image), header->orientation);
}

}  // namespace skyline::store
