#include "store/import/sample_layout.hpp"

#include "skyline/core/error.hpp"

#include "core/text/wording.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <type_traits>

namespace skyline::store {
namespace {

std::string dims_text(const SourceArray& array) {
  std::vector<std::string> dims;
  for (const std::int64_t dim : array.dims) dims.push_back(std::to_string(dim));
  return "[" + joined(dims) + "]";
}

constexpr std::int64_t kMostChannelsLast = 16;
constexpr std::int64_t kMostFeatures = 32;  // more numbers of a sample may be a sequence or a flat image

/// Refuses rows of numbers that are not of a table and may have an order.
void check_features(const SourceArray& x) {
  if (x.from_text || x.dims.size() != 2 || x.dims[1] <= kMostFeatures) return;
  const auto side = static_cast<std::int64_t>(std::lround(std::sqrt(x.dims[1])));
  const std::string square = "1x" + std::to_string(side) + "x" + std::to_string(side);
  x.fail(dims_text(x) + " may be features or sequences: say --layout=nf or nl" +
         (side * side == x.dims[1] ? ", or --shape=" + square + " if they are flat images" : ""));
}

/// Returns the layout that the number of dimensions suggests.
/// @param careful  refuse an array that could have another layout
Layout layout_of(const SourceArray& x, bool careful) {
  const auto could_be_channels = [](std::int64_t dim) { return dim == 1 || dim == 3 || dim == 4; };
  if (x.dims.size() == 4) {
    const bool few_last = x.dims[3] < x.dims[1] && x.dims[3] <= kMostChannelsLast;
    if (careful && !could_be_channels(x.dims[1]) && (could_be_channels(x.dims[3]) || few_last))
      x.fail(dims_text(x) + " may have its channels last: say --layout=nhwc or nchw");
    return Layout::kChw;
  }
  if (careful) check_features(x);
  if (x.dims.size() < 3) return Layout::kFeatures;
  if (careful && x.dims[1] > 1)
    x.fail(dims_text(x) +
           " may be grey images or sequences: say --layout=nhw, ncl or nlc (samples, height, width, "
           "channels, length)");
  return Layout::kChannelsLength;
}

space::Shape told_shape(const std::string& text, const SourceArray& x) {
  std::vector<std::int64_t> dims;
  const char* place = text.data();
  const char* const end = place + text.size();
  for (bool more = true; more;) {
    const auto read = std::from_chars(place, end, dims.emplace_back());
    more = read.ptr != end && *read.ptr == 'x';
    const bool wrong = read.ec != std::errc() || dims.back() < 1 || dims.back() > 1 << 20 ||
                       (!more && read.ptr != end) || dims.size() + (more ? 1 : 0) > 3;
    if (wrong || (!more && dims.size() < 2))
      throw UserError("--shape: expected CHANNELSxHEIGHTxWIDTH, e.g. 1x28x28, or CHANNELSxLENGTH, got " +
                      text);
    place = read.ptr + 1;
  }
  if (dims.size() == 2) dims.insert(dims.begin() + 1, 1);
  const space::Shape shape{dims[0], dims[1], dims[2]};
  if (shape.elements() == static_cast<std::int64_t>(x.row_elements())) return shape;
  x.fail("expected " + std::to_string(shape.elements()) + " values per sample for --shape=" + text +
         ", got " + std::to_string(x.row_elements()));
}

std::size_t rank_of(Layout layout) {
  if (layout == Layout::kChw || layout == Layout::kHwc) return 4;
  return layout == Layout::kFeatures || layout == Layout::kLength ? 2 : 3;
}

/// Returns nullopt if the array has another number of dimensions.
std::optional<SampleLayout> laid_out(Layout layout, const SourceArray& x) {
  const auto& d = x.dims;
  const bool single = d.size() == 1 && layout == Layout::kFeatures;  // one number per sample
  if (!single && d.size() != rank_of(layout)) return std::nullopt;
  switch (layout) {
    case Layout::kHwc:
      return SampleLayout{{d[3], d[1], d[2]}, true};
    case Layout::kHw:
      return SampleLayout{{1, d[1], d[2]}};
    case Layout::kLength:
      return SampleLayout{{1, 1, d[1]}};
    case Layout::kChannelsLength:
      return SampleLayout{{d[1], 1, d[2]}};
    case Layout::kLengthChannels:
      return SampleLayout{{d[2], 1, d[1]}, true};
    case Layout::kFeatures:
      return SampleLayout{{single ? 1 : d[1], 1, 1}};
    default:
      return SampleLayout{{d[1], d[2], d[3]}};
  }
}

/// Returns the layout in which samples have the expected shape. Rows of numbers have it if their number fits.
std::optional<SampleLayout> fitting_layout(const SourceArray& x,
                                           const std::optional<space::Shape>& expected) {
  if (!expected) return std::nullopt;
  for (const Layout layout :
       {Layout::kChw, Layout::kHwc, Layout::kHw, Layout::kChannelsLength, Layout::kLengthChannels}) {
    const auto found = laid_out(layout, x);
    if (found && found->shape == *expected) return found;
  }
  const bool fits = x.dims.size() <= 2 && x.row_elements() == static_cast<std::size_t>(expected->elements());
  return fits ? std::optional(SampleLayout{*expected}) : std::nullopt;
}

}  // namespace

SampleLayout sample_layout(const ArrayOptions& options, const SourceArray& x,
                           const std::optional<space::Shape>& expected) {
  if (!options.shape.empty()) return {told_shape(options.shape, x)};
  if (options.layout == Layout::kByRank) {
    if (const auto fitting = fitting_layout(x, expected)) return *fitting;
    return laid_out(layout_of(x, !expected), x).value();
  }
  if (const auto told = laid_out(options.layout, x)) return *told;
  x.fail("expected " + std::to_string(rank_of(options.layout)) + " dimensions for this layout, got " +
         dims_text(x));
}

template <typename Value>
std::vector<Value> samples_of(const SourceArray& x, const SampleLayout& layout,
                              std::span<const std::byte> rows, std::span<const std::size_t> samples) {
  std::vector<Value> values(rows.size() / x.type.bytes);
  if constexpr (std::is_same_v<Value, float>) {
    to_floats(x.type, rows, values);
    const auto wrong = std::ranges::find_if(values, [](float value) { return !std::isfinite(value); });
    if (wrong != values.end()) {
      const auto place = static_cast<std::size_t>(wrong - values.begin());
      x.fail("sample " + std::to_string(samples[place / x.row_elements()]) + ": a number that is not finite");
    }
  } else {
    std::ranges::transform(rows, values.begin(), [](std::byte byte) { return static_cast<Value>(byte); });
  }
  if (!layout.channels_last) return values;
  std::vector<Value> turned(values.size());
  const auto channels = static_cast<std::size_t>(layout.shape.channels);
  const std::size_t plane = static_cast<std::size_t>(layout.shape.elements()) / channels;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::size_t sample = i / (channels * plane);
    const std::size_t within = i % (channels * plane);
    turned[sample * channels * plane + within % channels * plane + within / channels] = values[i];
  }
  return turned;
}

template std::vector<std::uint8_t> samples_of(const SourceArray&, const SampleLayout&,
                                              std::span<const std::byte>, std::span<const std::size_t>);
template std::vector<float> samples_of(const SourceArray&, const SampleLayout&, std::span<const std::byte>,
                                       std::span<const std::size_t>);

}  // namespace skyline::store
