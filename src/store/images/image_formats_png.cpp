#include "skyline/core/error.hpp"

#include "store/images/image_formats.hpp"

#include <algorithm>
#include <csetjmp>
#include <memory>

#include <png.h>

namespace skyline::store {
namespace {

constexpr std::size_t kHeaderEnd = 26;  // bytes of the signature and of IHDR up to the colour type
constexpr png_alloc_size_t kMostChunkBytes = 1 << 23;  // size of unpacked texts and profiles

constexpr const char* kTruncated = "truncated";

extern "C" {
/// The state of one decoding, outside the frames that a longjmp leaves.
struct PngReading {
  png_structp png = nullptr;
  png_infop info = nullptr;
  std::string_view rest;
  std::string message;
  bool has_all_rows = false;
  std::vector<png_bytep> rows;
  std::vector<png_byte> deep;  // the values of 16 bits, if the file has such
};

static void read_png_bytes(png_structp png, png_bytep bytes, std::size_t count) {
  auto& reading = *static_cast<PngReading*>(png_get_io_ptr(png));
  if (reading.rest.size() < count) png_error(png, kTruncated);
  std::copy_n(reading.rest.begin(), count, bytes);
  reading.rest.remove_prefix(count);
}

[[noreturn]] static void end_png(png_structp png, png_const_charp message) {
  static_cast<PngReading*>(png_get_error_ptr(png))->message = message;
  png_longjmp(png, 1);
}

static void ignore_png_warning(png_structp /*png*/, png_const_charp /*message*/) {}
}

/// Frees the memory of libpng, whichever way the decoding ends.
struct PngOwner : PngReading {
  PngOwner() {
    png = png_create_read_struct(PNG_LIBPNG_VER_STRING, static_cast<PngReading*>(this), end_png,
                                 ignore_png_warning);
    if (png != nullptr) info = png_create_info_struct(png);
    require(info != nullptr, "libpng cannot start");
  }
  ~PngOwner() { png_destroy_read_struct(&png, &info, nullptr); }
  PngOwner(const PngOwner&) = delete;
  PngOwner& operator=(const PngOwner&) = delete;
};

/// Reads the values as they are stored, whatever the file says about gamma: 8 bits, grey or RGB, into the
/// image, and 16 bits into `reading.deep`.
bool read_png(PngReading& reading, Image& image) {
  png_structp png = reading.png;
  if (setjmp(png_jmpbuf(png)) != 0)  // a file that ends after its last row is read, as Pillow reads it
    return reading.has_all_rows && reading.message == kTruncated;
  png_set_user_limits(png, static_cast<png_uint_32>(kMostSide), static_cast<png_uint_32>(kMostSide));
  png_set_chunk_malloc_max(png, kMostChunkBytes);
  png_set_read_fn(png, &reading, read_png_bytes);
  png_read_info(png, reading.info);
  png_set_palette_to_rgb(png);
  png_set_expand_gray_1_2_4_to_8(png);
  png_set_strip_alpha(png);
  png_set_interlace_handling(png);
  png_read_update_info(png, reading.info);
  const std::size_t value_bytes = png_get_bit_depth(png, reading.info) == 16 ? 2 : 1;
  const std::size_t row_bytes = image.width * image.channels * value_bytes;
  if (png_get_rowbytes(png, reading.info) != row_bytes ||
      png_get_image_height(png, reading.info) != image.height) {
    png_error(png, "rows of another length than its header says");
  }
  if (value_bytes == 2) reading.deep.resize(image.height * row_bytes);
  png_bytep const begin = value_bytes == 2 ? reading.deep.data() : image.pixels.data();
  for (std::size_t y = 0; y < image.height; ++y) reading.rows[y] = begin + y * row_bytes;
  png_read_image(png, reading.rows.data());
  reading.has_all_rows = true;
  png_read_end(png, nullptr);
  return true;
}

/// Rounds values of 16 bits to 8.
void take_deep(const std::vector<png_byte>& bytes, Image& image) {
  const auto deep = std::make_shared<DeepValues>();
  for (std::size_t i = 0; i < image.pixels.size(); ++i) {
    const auto value = static_cast<std::size_t>(bytes[2 * i] << 8 | bytes[2 * i + 1]);
    image.pixels[i] = static_cast<std::uint8_t>((value + 128) / 257);
    deep->add(value, image.pixels[i]);
  }
  image.deep = deep;
}

}  // namespace

std::optional<ImageHeader> png_header(std::string_view start) {
  if (start.size() < kHeaderEnd) return std::nullopt;
  if (start.substr(12, 4) != "IHDR") throw UserError("damaged PNG: it does not begin with its header");
  const bool grey = (start[25] & PNG_COLOR_MASK_COLOR) == 0;
  return ImageHeader{{grey ? 1 : 3, big_endian(start, 20, 4), big_endian(start, 16, 4)}};
}

void decode_png(std::string_view file, Image& image) {
  PngOwner reading;
  reading.rest = file;
  reading.rows.resize(image.height);
  if (!read_png(reading, image)) throw UserError("damaged PNG: " + reading.message);
  if (!reading.deep.empty()) take_deep(reading.deep, image);
}

}  // namespace skyline::store
