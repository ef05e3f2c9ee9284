#include "skyline/core/error.hpp"

#include "store/images/image_formats.hpp"

#include <algorithm>
#include <array>
#include <csetjmp>
#include <cstdio>
#include <span>

#include <jerror.h>
#include <jpeglib.h>

namespace skyline::store {
namespace {

constexpr int kMostScans = 500;  // scans of a progressive image; each takes the time of a whole image

extern "C" {
/// The state of one decoding, outside the frames that a longjmp leaves.
struct JpegReading {
  jpeg_decompress_struct info{};
  jpeg_error_mgr errors{};
  jpeg_progress_mgr progress{};
  std::jmp_buf back{};
  std::array<char, JMSG_LENGTH_MAX> message{};
};

[[noreturn]] static void end_jpeg(j_common_ptr info) {
  auto& reading = *static_cast<JpegReading*>(info->client_data);
  info->err->format_message(info, reading.message.data());
  std::longjmp(reading.back, 1);
}

/// Warnings of missing or wrong data are errors: the library would fill in grey.
static void judge_jpeg_message(j_common_ptr info, int level) {
  if (level >= 0) return;
  const int code = info->err->msg_code;
  const bool harmless = code == JWRN_EXTRANEOUS_DATA || code == JWRN_ADOBE_XFORM ||
                        code == JWRN_TOO_MUCH_DATA || code == JWRN_NOT_SEQUENTIAL || code == JWRN_JFIF_MAJOR;
  if (!harmless) end_jpeg(info);
}

static void bound_jpeg_scans(j_common_ptr info) {
  if (!info->is_decompressor) return;
  if (reinterpret_cast<j_decompress_ptr>(info)->input_scan_number <= kMostScans) return;
  info->err->msg_code = JERR_BAD_PROG_SCRIPT;
  info->err->msg_parm.i[0] = kMostScans;
  end_jpeg(info);
}
}

struct JpegOwner : JpegReading {
  JpegOwner() {
    info.err = jpeg_std_error(&errors);
    info.client_data = static_cast<JpegReading*>(this);
    errors.error_exit = end_jpeg;
    errors.emit_message = judge_jpeg_message;
    progress.progress_monitor = bound_jpeg_scans;
  }
  ~JpegOwner() { jpeg_destroy_decompress(&info); }
  JpegOwner(const JpegOwner&) = delete;
  JpegOwner& operator=(const JpegOwner&) = delete;
};

constexpr std::size_t kInks = 4;  // channels of a CMYK image

/// Makes a row of CMYK red, green, blue with the values of Pillow. Like it, this takes all files for
/// inverted, as Adobe's programs write them: 255 is no ink.
/// @param inks  [width, 4]
/// @param row   [width, 3]
void take_colours(std::span<const std::uint8_t> inks, std::uint8_t* row) {
  for (std::size_t i = 0; i < inks.size(); i += kInks) {
    const int light = inks[i + 3];
    for (std::size_t channel = 0; channel < 3; ++channel) {
      const int product = (255 - inks[i + channel]) * light + 128;
      *row++ = static_cast<std::uint8_t>(light - (((product >> 8) + product) >> 8));
    }
  }
}

/// @param inks  room for a row, or empty if the image is not CMYK
bool read_jpeg(JpegReading& reading, std::string_view file, Image& image, std::span<std::uint8_t> inks) {
  if (setjmp(reading.back) != 0) return false;
  jpeg_decompress_struct& info = reading.info;
  jpeg_create_decompress(&info);
  info.progress = &reading.progress;
  jpeg_mem_src(&info, reinterpret_cast<const unsigned char*>(file.data()), file.size());
  jpeg_read_header(&info, TRUE);
  const bool grey = image.channels == 1;
  info.out_color_space = !inks.empty() ? JCS_CMYK : grey ? JCS_GRAYSCALE : JCS_RGB;
  jpeg_start_decompress(&info);
  if (info.output_width != image.width || info.output_height != image.height ||
      static_cast<std::size_t>(info.output_components) != (inks.empty() ? image.channels : kInks)) {
    ERREXIT(&info, JERR_BAD_LENGTH);
  }
  while (info.output_scanline < info.output_height) {
    JSAMPROW row = image.pixels.data() + info.output_scanline * image.width * image.channels;
    JSAMPROW read = inks.empty() ? row : inks.data();
    jpeg_read_scanlines(&info, &read, 1);
    if (!inks.empty()) take_colours(inks, row);
  }
  jpeg_finish_decompress(&info);
  return true;
}

constexpr std::uint8_t kExifMarker = 0xe1;

bool begins_frame(std::uint8_t marker) {
  return marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 && marker != 0xcc;
}

struct JpegFrame {
  std::size_t channels = 0;  // as stored: 4 for CMYK
  ImageHeader header;
};

std::optional<JpegFrame> find_frame(std::string_view start) {
  std::optional<int> orientation;
  for (std::size_t place = 2; place + 9 < start.size();) {
    if (start[place] != '\xff') throw UserError("damaged JPEG: no marker where one is expected");
    const auto marker = static_cast<std::uint8_t>(start[place + 1]);
    if (marker == 0xff) {  // fill bytes
      ++place;
      continue;
    }
    if (marker == 0xd9 || marker == 0xda) throw UserError("damaged JPEG: no frame");
    if (begins_frame(marker)) {
      const std::int64_t channels = big_endian(start, place + 9, 1);
      if (channels != 1 && channels != 3 && channels != kInks) {
        throw UserError("a JPEG of " + std::to_string(channels) + " channels, expected grey, colour or CMYK");
      }
      return JpegFrame{
          static_cast<std::size_t>(channels),
          {{channels == 1 ? 1 : 3, big_endian(start, place + 5, 2), big_endian(start, place + 7, 2)},
           orientation.value_or(1)}};
    }
    const bool alone = marker == 0x01 || (marker >= 0xd0 && marker <= 0xd8);
    const auto bytes = alone ? 0 : static_cast<std::size_t>(big_endian(start, place + 2, 2));
    const std::string_view segment = start.substr(place + 4).substr(0, std::max<std::size_t>(bytes, 2) - 2);
    if (marker == kExifMarker && segment.starts_with("Exif") && !orientation)
      orientation = exif_orientation(segment);
    place += 2 + bytes;
  }
  return std::nullopt;
}

}  // namespace

std::optional<ImageHeader> jpeg_header(std::string_view start) {
  const std::optional<JpegFrame> frame = find_frame(start);
  return frame ? std::optional(frame->header) : std::nullopt;
}

void decode_jpeg(std::string_view file, Image& image) {
  std::vector<std::uint8_t> inks(find_frame(file).value().channels == kInks ? kInks * image.width : 0);
  JpegOwner reading;
  if (!read_jpeg(reading, file, image, inks)) {
    throw UserError(std::string("damaged JPEG: ") + reading.message.data());
  }
}

}  // namespace skyline::store
