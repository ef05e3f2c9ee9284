#pragma once

#include "skyline/core/option_table.hpp"

#include "store/images/image.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>

namespace skyline::store {

constexpr std::int64_t kChosenSize = -1;

struct ImageSize {
  std::int64_t height = 0;
  std::int64_t width = 0;
};

/// What images of one group share.
enum class ImageGroups : std::uint8_t {
  kNone,
  kFolder,  // the name of a folder below that of their class
  kName,    // the start of their names, up to the first `_` or `-`
};

/// The options of `skyline prep images`.
struct ImageOptions {
  ImageSize size;  // 0 means the size of the files, which must be one
  bool chosen_size() const { return size.height == kChosenSize; }
  Fit fit = Fit::kResize;
  std::optional<double> test;
  double validation = 0;
  std::uint64_t seed = 1;
  ImageGroups group = ImageGroups::kNone;
  std::size_t skip = 100;
};

const OptionTable<ImageOptions>& image_keys();

}  // namespace skyline::store
