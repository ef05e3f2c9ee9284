#include "skyline/core/error.hpp"

#include "store/images/image_formats.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>

namespace skyline::store {
namespace {

class PnmHeader {
 public:
  explicit PnmHeader(std::string_view file) : rest_(file) {
    shape_.channels = file[1] == '5' ? 1 : 3;
    rest_.remove_prefix(2);
    shape_.width = number("width", kMostSide);
    shape_.height = number("height", kMostSide);
    const std::int64_t largest = number("largest value", 65535);
    if (largest != 255) throw UserError("expected 255 as the largest value, got " + std::to_string(largest));
    if (!rest_.empty()) rest_.remove_prefix(1);  // one blank ends the header
  }
  const space::Shape& shape() const { return shape_; }
  std::string_view pixels() const { return rest_; }

 private:
  void skip_blanks_and_comments() {
    while (!rest_.empty() && (std::isspace(static_cast<unsigned char>(rest_[0])) != 0 || rest_[0] == '#')) {
      rest_.remove_prefix(rest_[0] == '#' ? std::min(rest_.find('\n'), rest_.size()) : 1);
    }
  }
  std::int64_t number(const char* what, std::int64_t most) {
    skip_blanks_and_comments();
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    if (error != std::errc() || value < 1 || value > most) {
      throw UserError(std::string("the header's ") + what + ": expected a number from 1 to " +
                      std::to_string(most));
    }
    rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    return value;
  }

  std::string_view rest_;
  space::Shape shape_;
};

}  // namespace

std::optional<ImageHeader> pnm_header(std::string_view start) {
  return ImageHeader{PnmHeader(start).shape()};
}

void decode_pnm(std::string_view file, Image& image) {
  const PnmHeader header(file);
  const std::string_view pixels = header.pixels();
  if (pixels.size() != image.pixels.size()) {
    throw UserError("expected " + std::to_string(image.pixels.size()) + " bytes of pixels, got " +
                    std::to_string(pixels.size()));
  }
  std::copy(pixels.begin(), pixels.end(), image.pixels.begin());
}

}  // namespace skyline::store
