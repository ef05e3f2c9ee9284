#include "store/images/image.hpp"

#include "skyline/core/random.hpp"

#include "store/fixtures/image_files.hpp"
#include "support/user_error_of.hpp"

#include <gmock/gmock.h>
#include <sys/resource.h>

namespace skyline::store {
namespace {

using skyline::testing::deflated;
using skyline::testing::jpeg_file;
using skyline::testing::make_image;
using skyline::testing::png_chunk;
using skyline::testing::png_file;
using skyline::testing::pnm_file;
using skyline::testing::raw_png;
using skyline::testing::user_error_of;
using skyline::testing::webp_file;
using skyline::testing::word;
using ::testing::HasSubstr;

std::string decoding_error(const std::string& file) {
  return user_error_of([&] { decode_image(file); });
}

TEST(DecodeImage, LosslessFilesGiveTheirPixels) {
  for (const std::size_t channels : {1U, 3U}) {
    const Image image = make_image(channels, 13, 17, 1);
    for (const std::string& file : {png_file(image), pnm_file(image)}) {
      EXPECT_EQ(image_shape(file), image.shape());
      EXPECT_EQ(decode_image(file).pixels, image.pixels);
    }
  }
  const Image colour = make_image(3, 13, 17, 2);
  EXPECT_EQ(image_shape(webp_file(colour)), colour.shape());
  EXPECT_EQ(decode_image(webp_file(colour)).pixels, colour.pixels);
}

TEST(DecodeImage, JpegFilesAreNearTheirPixelsAndKeepGreyGrey) {
  for (const std::size_t channels : {1U, 3U}) {
    Image image = make_image(channels, 32, 24, 3);
    for (std::size_t i = 0; i < image.pixels.size(); ++i) image.pixels[i] = static_cast<std::uint8_t>(i / 16);
    const Image decoded = decode_image(jpeg_file(image));
    ASSERT_EQ(decoded.shape(), image.shape());
    for (std::size_t i = 0; i < image.pixels.size(); ++i)
      EXPECT_NEAR(decoded.pixels[i], image.pixels[i], 24) << i;
  }
}

TEST(DecodeImage, SmallAndLargeDepthsPalettesAndTransparencyBecomeEightBitsOfGreyOrColour) {
  using namespace std::literals;
  EXPECT_EQ(decode_image(raw_png(4, 1, 2, 0, "\0\x1b"s)).pixels,
            (std::vector<std::uint8_t>{0, 85, 170, 255}));
  EXPECT_EQ(decode_image(raw_png(2, 1, 16, 0, "\0\x00\x00\xff\xff"s)).pixels,
            (std::vector<std::uint8_t>{0, 255}));
  EXPECT_EQ(decode_image(raw_png(1, 1, 8, 4, "\0\x2a\x00"s)).pixels, (std::vector<std::uint8_t>{42}));
  EXPECT_EQ(decode_image(raw_png(1, 1, 8, 6, "\0\x01\x02\x03\x00"s)).pixels,
            (std::vector<std::uint8_t>{1, 2, 3}));
  const std::string palette = png_chunk("PLTE", "\x0a\x0b\x0c\x14\x15\x16");
  EXPECT_EQ(decode_image(raw_png(2, 1, 8, 3, "\0\x01\x00"s, palette)).pixels,
            (std::vector<std::uint8_t>{20, 21, 22, 10, 11, 12}));
  const std::string gamma = png_chunk("gAMA", word(100000));
  EXPECT_EQ(decode_image(raw_png(1, 1, 8, 0, "\0\x80"s, gamma)).pixels, (std::vector<std::uint8_t>{128}))
      << "the values are those of the file";
}

TEST(DecodeImage, ValuesOfMoreThanEightBitsAreCountedAsTheyAreMerged) {
  using namespace std::literals;
  std::string values;
  std::string png_values;
  for (int i = 0; i < 4; ++i) {  // 0, 100, 200 and 300 of 65535
    values += static_cast<char>(100 * i >> 8);
    values += static_cast<char>(100 * i & 0xff);
  }
  for (const std::string& file : {raw_png(4, 1, 16, 0, "\0"s + values), "P5 4 1 65535\n" + values}) {
    const Image image = decode_image(file);
    EXPECT_EQ(image.pixels, (std::vector<std::uint8_t>{0, 0, 1, 1}));
    ASSERT_NE(image.deep, nullptr);
    EXPECT_EQ(image.deep->stored.count(), 4U);
    EXPECT_EQ(image.deep->kept.count(), 2U);
  }
  EXPECT_EQ(decode_image("P2 2 1 255 7 8"s).deep, nullptr);
  EXPECT_EQ(decode_image(raw_png(1, 1, 8, 0, "\0\x80"s)).deep, nullptr);
}

TEST(DecodeImage, TruncatedFilesAreRefused) {
  const Image image = make_image(3, 40, 40, 4);
  for (const std::string& file : {png_file(image), jpeg_file(image), webp_file(image), pnm_file(image)}) {
    for (const std::size_t bytes : {file.size() / 2, file.size() - 30}) {
      EXPECT_NE(decoding_error(file.substr(0, bytes)), "(nothing was thrown)") << file.substr(1, 4) << bytes;
    }
  }
}

// Pillow reads these as well.
TEST(DecodeImage, APngThatEndsAfterItsLastRowIsRead) {
  const Image image = make_image(3, 40, 40, 4);
  const std::string file = png_file(image);
  for (const std::size_t missing : {1U, 12U}) {  // bytes of IEND, the last chunk
    EXPECT_EQ(decode_image(file.substr(0, file.size() - missing)).pixels, image.pixels) << missing;
  }
}

// Pillow 10 gives these pixels.
TEST(DecodeImage, PnmFilesOfAllKindsAndDepthsAreRead) {
  using namespace std::literals;
  using Pixels = std::vector<std::uint8_t>;
  EXPECT_EQ(decode_image("P2 3 1\n# a comment\n255\n0 7 # another\n255\n"s).pixels, (Pixels{0, 7, 255}));
  EXPECT_EQ(decode_image("P3 1 2 15\n0 1 15 2 3 8"s).pixels, (Pixels{0, 17, 255, 34, 51, 136}));
  EXPECT_EQ(decode_image("P5 3 1 2\n\0\1\2"s).pixels, (Pixels{0, 128, 255}))
      << "halves go to the even number";
  EXPECT_EQ(decode_image("P5 2 1 15\n\x0f\x10"s).pixels, (Pixels{255, 255})) << "more than the largest value";
  EXPECT_EQ(decode_image("P5 3 1 65535\n\0\0\x80\0\xff\xff"s).pixels, (Pixels{0, 128, 255}));
  EXPECT_EQ(decode_image("P6 1 1 1023\n\x03\xff\0\0\2\0"s).pixels, (Pixels{255, 0, 128}));
  EXPECT_EQ(decode_image("P1\n3 2\n010 1 1 1"s).pixels, (Pixels{255, 0, 255, 0, 0, 0}));
  EXPECT_EQ(decode_image("P4\n9 2\n\x80\x80\x01\x00"s).pixels,
            (Pixels{0, 255, 255, 255, 255, 255, 255, 255, 0, 255, 255, 255, 255, 255, 255, 255, 0, 255}));
  EXPECT_EQ(image_shape("P3 7 5 9\n"), (space::Shape{3, 5, 7}));
  EXPECT_THAT(decoding_error("P2 2 1 9\n1 10"), HasSubstr("the next value: expected a number from 0 to 9"));
  EXPECT_THAT(decoding_error("P2 2 1 9\n1"), HasSubstr("the next value: expected"));
  EXPECT_THAT(decoding_error("P2 1 1 9\n1 2"), HasSubstr("more values than pixels"));
  EXPECT_THAT(decoding_error("P1 2 1\n12"), HasSubstr("expected 0 or 1"));
  EXPECT_THAT(decoding_error("P4 9 1\na"), HasSubstr("expected 2 bytes of pixels, got 1"));
  EXPECT_THAT(decoding_error("P5 1 1 256\na"), HasSubstr("expected 2 bytes of pixels, got 1"));
}

TEST(DecodeImage, JpegFilesOfInksBecomeColoursAsInPillow) {
  Image inks{4, 16, 16, {}};
  for (int i = 0; i < 256; ++i) inks.pixels.insert(inks.pixels.end(), {200, 100, 255, 128});
  const std::string file = jpeg_file(inks);
  EXPECT_EQ(image_shape(file), (space::Shape{3, 16, 16}));
  const Image image = decode_image(file);
  ASSERT_EQ(image.shape(), (space::Shape{3, 16, 16}));
  // PIL.Image.open(...).convert("RGB"): 255 is no ink, as Adobe's programs write it.
  for (std::size_t i = 0; i < image.pixels.size(); i += 3) {
    EXPECT_NEAR(image.pixels[i], 100, 2);
    EXPECT_NEAR(image.pixels[i + 1], 50, 2);
    EXPECT_NEAR(image.pixels[i + 2], 128, 2);
  }
  std::string two = file;
  two[two.find("\xff\xc0") + 9] = 2;
  EXPECT_THAT(decoding_error(two), HasSubstr("a JPEG of 2 channels, expected grey, colour or CMYK"));
}

TEST(ForeignImageKind, IsKnownByTheFirstBytes) {
  using namespace std::literals;
  EXPECT_EQ(foreign_image_kind("BM\x46\0\0\0\0\0\0\0\x36"sv), "BMP");
  EXPECT_EQ(foreign_image_kind("BMW is a car"sv), "");
  EXPECT_EQ(foreign_image_kind("GIF89a"sv), "GIF");
  EXPECT_EQ(foreign_image_kind("II*\0"sv), "TIFF");
  EXPECT_EQ(foreign_image_kind("\0\0\0\x18"
                               "ftypheic"sv),
            "HEIC");
  EXPECT_EQ(foreign_image_kind(""sv), "");
}

// Pillow's convert("L").
TEST(GreyImage, HasTheLuma) {
  const Image colours{3, 1, 5, {255, 0, 0, 0, 255, 0, 0, 0, 255, 10, 20, 30, 255, 255, 255}};
  const Image made = grey(colours);
  EXPECT_EQ(made.shape(), (space::Shape{1, 1, 5}));
  EXPECT_EQ(made.pixels, (std::vector<std::uint8_t>{76, 150, 29, 18, 255}));
  EXPECT_EQ(grey(made).pixels, made.pixels);
}

TEST(DecodeImage, SizesAreBoundedBeforeMemoryIsTaken) {
  EXPECT_EQ(decoding_error(raw_png(100'000, 2, 8, 0, "")),
            "expected at most 32768 pixels a side and 67108864 in all, got 2 x 100000");
  EXPECT_THAT(decoding_error(raw_png(30'000, 30'000, 8, 2, "")), HasSubstr("got 30000 x 30000"));
  EXPECT_THAT(decoding_error(raw_png(0, 3, 8, 2, "")), HasSubstr("an image of 3 x 0 pixels"));
  EXPECT_THAT(decoding_error("P5\n99999 99999\n255\nab"),
              HasSubstr("width: expected a number from 1 to 32768"));
  std::string jpeg = jpeg_file(make_image(1, 8, 8, 5));
  const std::size_t frame = jpeg.find("\xff\xc0");
  jpeg.replace(frame + 5, 4, "\xff\xff\xff\xff");
  EXPECT_THAT(decoding_error(jpeg), HasSubstr("got 65535 x 65535"));
}

TEST(DecodeImage, TextsThatUnpackToGigabytesAreNotUnpacked) {
  const std::string bomb =
      png_chunk("zTXt", std::string("a\0\0", 3) + deflated(std::string(100'000'000, 'x')));
  const std::string file = raw_png(1, 1, 8, 0, std::string("\0\x07", 2), bomb);
  EXPECT_EQ(decode_image(file).pixels, (std::vector<std::uint8_t>{7})) << "the text is left out";
}

TEST(DecodeImage, WhatIsNoImageIsNamed) {
  EXPECT_EQ(decoding_error(""), "the file is empty");
  for (const char* text : {"GIF89a", "hello", "RIFFxxxxAVI "}) {
    EXPECT_EQ(decoding_error(text), "not a PNG, JPEG, WebP, PBM, PGM or PPM image");
  }
  EXPECT_THAT(decoding_error("P5\n2 x\n255\nab"), HasSubstr("height: expected a number from 1"));
  EXPECT_THAT(decoding_error("P5\n2 1\n255\nabc"), HasSubstr("expected 2 bytes of pixels, got 3"));
}

TEST(DecodeImage, MutatedFilesAreDecodedOrRefused) {
  const Image image = make_image(3, 16, 16, 6);
  RandomStream random(7);
  std::size_t refused = 0;
  for (const std::string& file : {png_file(image), jpeg_file(image), webp_file(image), pnm_file(image)}) {
    for (int round = 0; round < 500; ++round) {
      std::string mutated = file;
      for (std::uint64_t i = 0; i <= random.below(4); ++i) {
        mutated[random.below(mutated.size())] = static_cast<char>(random.below(256));
      }
      if (random.below(4) == 0) mutated.resize(random.below(mutated.size()));
      try {
        const Image decoded = decode_image(mutated);
        EXPECT_EQ(decoded.pixels.size(), decoded.channels * decoded.height * decoded.width);
      } catch (const UserError& error) {
        EXPECT_EQ(std::string_view(error.what()).find('\n'), std::string_view::npos);
        ++refused;
      }
    }
  }
  EXPECT_GT(refused, 500U);
}

/// A JPEG with an EXIF part that says this orientation.
std::string with_orientation(const std::string& jpeg, int orientation, bool little) {
  using namespace std::literals;
  const std::string tiff =
      little ? "II*\0\x08\0\0\0\x02\0\x0f\x01\x02\0\x01\0\0\0x\0\0\0\x12\x01\x03\0\x01\0\0\0"s +
                   static_cast<char>(orientation) + "\0\0\0"s
             : "MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0"s + static_cast<char>(orientation) + "\0\0"s;
  const std::string segment = "Exif\0\0"s + tiff;
  return jpeg.substr(0, 2) + "\xff\xe1"s + '\0' + static_cast<char>(segment.size() + 2) + segment +
         jpeg.substr(2);
}

TEST(DecodeImage, JpegFilesAreTurnedAsExifSays) {
  Image image{1, 16, 32, {}};  // four quarters
  for (std::size_t y = 0; y < 16; ++y) {
    for (std::size_t x = 0; x < 32; ++x)
      image.pixels.push_back(static_cast<std::uint8_t>(y / 8 * 160 + x / 16 * 80));
  }
  // Pixels from PIL.ImageOps.exif_transpose: above left and right, below left and right.
  const std::vector<std::vector<int>> expected{{0, 80, 160, 240}, {80, 0, 240, 160}, {240, 160, 80, 0},
                                               {160, 240, 0, 80}, {0, 160, 80, 240}, {160, 0, 240, 80},
                                               {240, 80, 160, 0}, {80, 240, 0, 160}};
  const std::string jpeg = jpeg_file(image);
  for (const bool little : {true, false}) {
    for (int orientation = 1; orientation <= 8; ++orientation) {
      const std::string file = with_orientation(jpeg, orientation, little);
      const Image decoded = decode_image(file);
      ASSERT_EQ(decoded.height, orientation >= 5 ? 32U : 16U);
      ASSERT_EQ(decoded.width, orientation >= 5 ? 16U : 32U);
      EXPECT_EQ(image_shape(file), decoded.shape());
      const std::size_t right = decoded.width - 1;
      const std::size_t below = (decoded.height - 1) * decoded.width;
      const std::vector<std::size_t> corners{0, right, below, below + right};
      for (std::size_t i = 0; i < 4; ++i)
        EXPECT_NEAR(decoded.pixels[corners[i]], expected[static_cast<std::size_t>(orientation) - 1][i], 2)
            << orientation << little;
    }
  }
  EXPECT_EQ(decode_image(with_orientation(jpeg, 9, true)).height, 16U) << "there is no such orientation";
}

TEST(DecodeImage, DamagedExifPartsAreLeftOut) {
  const Image image = make_image(1, 8, 8, 9);
  const std::string file = with_orientation(jpeg_file(image), 6, true);
  RandomStream random(8);
  for (int round = 0; round < 2000; ++round) {
    std::string mutated = file;
    for (std::uint64_t i = 0; i <= random.below(6); ++i)
      mutated[12 + random.below(34)] = static_cast<char>(random.below(256));
    EXPECT_EQ(decode_image(mutated).pixels.size(), 64U);
  }
}

TEST(ResizeImage, AConstantStaysOneAndTheSameSizeChangesNothing) {
  const Image image = make_image(3, 9, 14, 8);
  EXPECT_EQ(resized(image, 9, 14, Fit::kResize).pixels, image.pixels);
  Image constant = image;
  std::ranges::fill(constant.pixels, std::uint8_t{77});
  for (const std::size_t side : {1U, 5U, 40U}) {
    for (const Fit fit : {Fit::kResize, Fit::kCrop}) {
      const Image result = resized(constant, side, side, fit);
      EXPECT_EQ(result.height, side);
      EXPECT_EQ(result.width, side);
      EXPECT_EQ(result.pixels, std::vector<std::uint8_t>(3 * side * side, 77));
    }
  }
}

TEST(ResizeImage, GivesTheValuesOfPillow) {
  Image image{1, 4, 6, {}};
  for (std::size_t i = 0; i < 24; ++i) image.pixels.push_back(static_cast<std::uint8_t>(i * i * 7 % 256));
  // numpy.asarray(PIL.Image.fromarray(image).resize((3, 2), PIL.Image.BILINEAR)), and ((9, 5), ...)
  const std::vector<std::uint8_t> smaller{103, 85, 124, 200, 104, 96};
  const std::vector<std::uint8_t> larger{0,   4,   11,  24,  46,  71,  104, 144, 175, 176, 120, 77,
                                         129, 101, 75,  147, 137, 108, 246, 185, 127, 139, 95,  55,
                                         87,  125, 155, 234, 207, 171, 143, 85,  29,  20,  108, 197,
                                         220, 222, 226, 237, 128, 23,  52,  90,  119};
  EXPECT_EQ(resized(image, 2, 3, Fit::kResize).pixels, smaller);
  EXPECT_EQ(resized(image, 5, 9, Fit::kResize).pixels, larger);
}

TEST(ResizeImage, CropTakesTheMiddle) {
  Image image{1, 2, 6, {0, 1, 2, 3, 4, 5, 10, 11, 12, 13, 14, 15}};
  EXPECT_EQ(resized(image, 2, 2, Fit::kCrop).pixels, (std::vector<std::uint8_t>{2, 3, 12, 13}));
}

TEST(ResizeImage, ACropOfALongLineTakesNoMoreMemoryThanItsResult) {
  struct rusage before {};
  struct rusage after {};
  const Image image = make_image(1, 32768, 1, 1);
  ::getrusage(RUSAGE_SELF, &before);
  EXPECT_EQ(resized(image, 256, 256, Fit::kCrop).pixels.size(), 65536U);  // of 2 GB, if all were scaled
  ::getrusage(RUSAGE_SELF, &after);
  EXPECT_LT(after.ru_maxrss - before.ru_maxrss, 50'000);
}

}  // namespace
}  // namespace skyline::store
