#pragma once

#include "store/images/image.hpp"

#include <cstdio>
#include <cstdlib>
#include <string>

#include <jpeglib.h>
#include <png.h>
#include <webp/encode.h>

namespace skyline::testing {

inline store::Image make_image(std::size_t channels, std::size_t height, std::size_t width, unsigned seed) {
  store::Image image{channels, height, width, {}};
  for (std::size_t i = 0; i < channels * height * width; ++i) {
    seed = seed * 1664525 + 1013904223;
    image.pixels.push_back(static_cast<std::uint8_t>(seed >> 24));
  }
  return image;
}

inline std::string png_file(const store::Image& image) {
  png_image header{};
  header.version = PNG_IMAGE_VERSION;
  header.width = static_cast<png_uint_32>(image.width);
  header.height = static_cast<png_uint_32>(image.height);
  header.format = image.channels == 1 ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB;
  png_alloc_size_t bytes = 0;
  png_image_write_to_memory(&header, nullptr, &bytes, 0, image.pixels.data(), 0, nullptr);
  std::string file(bytes, '\0');
  png_image_write_to_memory(&header, file.data(), &bytes, 0, image.pixels.data(), 0, nullptr);
  file.resize(bytes);
  return file;
}

inline std::string jpeg_file(const store::Image& image) {
  jpeg_compress_struct info{};
  jpeg_error_mgr errors{};
  info.err = jpeg_std_error(&errors);
  jpeg_create_compress(&info);
  unsigned char* bytes = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&info, &bytes, &size);
  info.image_width = static_cast<JDIMENSION>(image.width);
  info.image_height = static_cast<JDIMENSION>(image.height);
  info.input_components = static_cast<int>(image.channels);
  info.in_color_space = image.channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
  jpeg_set_defaults(&info);
  jpeg_set_quality(&info, 100, TRUE);
  jpeg_start_compress(&info, TRUE);
  while (info.next_scanline < info.image_height) {
    auto* row =
        const_cast<std::uint8_t*>(image.pixels.data() + info.next_scanline * image.width * image.channels);
    jpeg_write_scanlines(&info, &row, 1);
  }
  jpeg_finish_compress(&info);
  std::string file(reinterpret_cast<char*>(bytes), size);
  jpeg_destroy_compress(&info);
  std::free(bytes);
  return file;
}

/// Lossless. @pre three channels
inline std::string webp_file(const store::Image& image) {
  std::uint8_t* bytes = nullptr;
  const std::size_t size =
      WebPEncodeLosslessRGB(image.pixels.data(), static_cast<int>(image.width),
                            static_cast<int>(image.height), static_cast<int>(3 * image.width), &bytes);
  std::string file(reinterpret_cast<char*>(bytes), size);
  WebPFree(bytes);
  return file;
}

/// Binary PGM or PPM.
inline std::string pnm_file(const store::Image& image) {
  return std::string(image.channels == 1 ? "P5" : "P6") + "\n" + std::to_string(image.width) + " " +
         std::to_string(image.height) + "\n255\n" + std::string(image.pixels.begin(), image.pixels.end());
}

}  // namespace skyline::testing
