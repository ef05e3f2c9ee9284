#include "store/import/image_options.hpp"

#include <algorithm>
#include <charconv>
#include <string>
#include <string_view>

namespace skyline::store {
namespace {

std::optional<ImageSize> size_in(std::string_view text) {
  if (text == "auto") return ImageSize{kChosenSize, kChosenSize};
  ImageSize size;
  const char* const end = text.data() + text.size();
  auto read = std::from_chars(text.data(), end, size.height);
  if (read.ec != std::errc()) return std::nullopt;
  size.width = size.height;
  if (read.ptr != end && *read.ptr == 'x') read = std::from_chars(read.ptr + 1, end, size.width);
  const bool bounded =
      std::min(size.height, size.width) >= 1 && std::max(size.height, size.width) <= kMostSide;
  if (read.ec != std::errc() || read.ptr != end || !bounded) return std::nullopt;
  return size;
}

OptionKind<ImageSize> image_size() {
  OptionKind<ImageSize> kind{{"a number of pixels, HEIGHTxWIDTH, or auto", schema_text("string")}};
  kind.read = [](const ConfigNode& node, ImageSize& size) {
    const auto read = size_in(node.is_scalar() ? node.as_text() : "");
    size = read.value_or(ImageSize{});
    return read.has_value();
  };
  kind.write = [](const ImageSize& size) {
    if (size.height == 0) return ConfigNode();
    if (size.height == kChosenSize) return ConfigNode::make_scalar("auto", {});
    return ConfigNode::make_scalar(std::to_string(size.height) + "x" + std::to_string(size.width), {});
  };
  return kind;
}

}  // namespace

const OptionTable<ImageOptions>& image_keys() {
  static const OptionTable<ImageOptions> table{
      {"size", &ImageOptions::size, image_size(),
       "Makes all images of this size: 32, or 24x32 (height first). `auto`: their own size, if they all have "
       "one of at most 96 pixels; else a square, by the median of their shorter sides."},
      {"fit", &ImageOptions::fit, choice<Fit>({{"resize", Fit::kResize}, {"crop", Fit::kCrop}}),
       "`resize` changes height and width each on its own; `crop` covers the size and cuts the rest."},
      {"test", &ImageOptions::test, if_given(number(at_least(0).below(1))),
       "Share of every class that becomes the test set (default: 0.2, or 0 with a folder `val` or `test`)."},
      {"validation", &ImageOptions::validation, number(at_least(0).below(1)),
       "Share of every class that is stored as the validation set."},
      {"seed", &ImageOptions::seed, whole<std::uint64_t>(at_least(0)), "Of the draw of these shares."},
      {"group", &ImageOptions::group,
       choice<ImageGroups>(
           {{"none", ImageGroups::kNone}, {"folder", ImageGroups::kFolder}, {"name", ImageGroups::kName}}),
       "Keeps images of one person in one part, also in the share that a search holds out: `folder`: they "
       "lie "
       "in folders of one name below their classes; `name`: their names begin alike, up to the first `_` or "
       "`-`."},
      {"skip", &ImageOptions::skip, whole<std::uint64_t>(at_least(0)),
       "Most files that are left out because they cannot be read as images."}};
  return table;
}

}  // namespace skyline::store
