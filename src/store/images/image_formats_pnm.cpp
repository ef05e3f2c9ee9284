#include "skyline/core/error.hpp"

#include "store/images/image_formats.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <memory>
#include <span>

namespace skyline::store {
namespace {

bool is_blank(char letter) {
  return std::isspace(static_cast<unsigned char>(letter)) != 0;
}

/// Reads the header of a file, and then its values one at a time.
class PnmReader {
 public:
  explicit PnmReader(std::string_view file) : rest_(file.substr(2)) {
    const int kind = file[1] - '0';  // 1 to 3 are text, 4 to 6 the same as bytes
    as_text_ = kind <= 3;
    is_bitmap_ = kind % 3 == 1;
    shape_.channels = kind % 3 == 0 ? 3 : 1;
    shape_.width = number("width", 1, kMostSide);
    shape_.height = number("height", 1, kMostSide);
    if (!is_bitmap_) largest_ = number("largest value", 1, 65535);
    if (!as_text_ && !rest_.empty()) rest_.remove_prefix(1);  // one blank ends the header
  }
  const space::Shape& shape() const { return shape_; }
  bool is_deep() const { return largest_ > 255; }

  /// Reads the pixels. The values are scaled to 8 bits, and rounded as Pillow does.
  /// @param deep  gets the values if they have more than 8 bits
  void read(std::span<std::uint8_t> pixels, DeepValues& deep) {
    if (!as_text_) check_bytes(pixels.size());
    const auto row = static_cast<std::size_t>(shape_.width);
    for (std::size_t i = 0; i < pixels.size(); ++i) {
      if (is_bitmap_) {
        pixels[i] = bit(i % row) ? 0 : 255;  // a 1 is black
      } else {
        const std::int64_t stored = as_text_ ? number("next value", 0, largest_) : stored_value();
        const double value = static_cast<double>(stored) / static_cast<double>(largest_) * 255;
        pixels[i] = static_cast<std::uint8_t>(std::min(std::nearbyint(value), 255.0));
        if (is_deep()) deep.add(static_cast<std::size_t>(stored), pixels[i]);
      }
    }
    if (!as_text_) return;
    skip_blanks_and_comments();
    if (!rest_.empty()) throw UserError("more values than pixels");
  }

 private:
  void skip_blanks_and_comments() {
    while (!rest_.empty() && (is_blank(rest_[0]) || rest_[0] == '#')) {
      rest_.remove_prefix(rest_[0] == '#' ? std::min(rest_.find('\n'), rest_.size()) : 1);
    }
  }
  std::int64_t number(const char* what, std::int64_t least, std::int64_t most) {
    skip_blanks_and_comments();
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    if (error != std::errc() || value < least || value > most) {
      throw UserError(std::string("the ") + what + ": expected a number from " + std::to_string(least) +
                      " to " + std::to_string(most));
    }
    rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    return value;
  }
  /// Checks that the rest of a binary file is all of the pixels.
  void check_bytes(std::size_t values) const {
    const auto width = static_cast<std::size_t>(shape_.width);
    std::size_t bytes = values * (is_deep() ? 2 : 1);
    if (is_bitmap_) bytes = values / width * ((width + 7) / 8);
    if (rest_.size() == bytes) return;
    throw UserError("expected " + std::to_string(bytes) + " bytes of pixels, got " +
                    std::to_string(rest_.size()));
  }
  std::int64_t stored_value() {
    const std::size_t bytes = is_deep() ? 2 : 1;
    const std::int64_t value = big_endian(rest_, 0, bytes);
    rest_.remove_prefix(bytes);
    return value;
  }
  /// @param column  of the bit; bytes begin anew in each row
  bool bit(std::size_t column) {
    if (as_text_) {  // digits need no blanks between them
      skip_blanks_and_comments();
      if (rest_.empty() || (rest_[0] != '0' && rest_[0] != '1')) throw UserError("expected 0 or 1 as pixels");
    } else if (column % 8 != 0) {
      return (bits_ >> (7 - column % 8) & 1) != 0;
    }
    bits_ = static_cast<std::uint8_t>(rest_[0]);
    rest_.remove_prefix(1);
    return as_text_ ? bits_ == '1' : bits_ >> 7 != 0;
  }

  std::string_view rest_;
  bool as_text_ = false;
  bool is_bitmap_ = false;
  std::int64_t largest_ = 1;
  space::Shape shape_;
  std::uint8_t bits_ = 0;  // last byte of a bitmap
};

}  // namespace

bool is_pnm(std::string_view start) {
  return start.size() > 2 && start[0] == 'P' && start[1] >= '1' && start[1] <= '6' &&
         (is_blank(start[2]) || start[2] == '#');
}

std::optional<ImageHeader> pnm_header(std::string_view start) {
  return ImageHeader{PnmReader(start).shape()};
}

void decode_pnm(std::string_view file, Image& image) {
  PnmReader reader(file);
  const auto deep = std::make_shared<DeepValues>();
  reader.read(image.pixels, *deep);
  if (reader.is_deep()) image.deep = deep;
}

}  // namespace skyline::store
