#include "train/tensor_block.hpp"

#include "skyline/core/error.hpp"

#include <algorithm>
#include <cstdint>

namespace skyline::train {
namespace {

using space::Shape;

constexpr std::int64_t kNew = -1;

/// The place of `index` about the centre of an axis of another extent; beyond it: kNew.
std::int64_t centred(std::int64_t index, std::int64_t extent, std::int64_t other_extent) {
  const std::int64_t place = index - (extent - 1) / 2 + (other_extent - 1) / 2;
  return place >= 0 && place < other_extent ? place : kNew;
}

/// For each index of the child's axis the parent's, or kNew.
std::vector<std::int64_t> axis_map(const Shape& from, const Shape& to) {
  std::vector<std::int64_t> map;
  map.reserve(static_cast<std::size_t>(to.elements()));
  for (std::int64_t channel = 0; channel < to.channels; ++channel) {
    for (std::int64_t y = 0; y < to.height; ++y) {
      for (std::int64_t x = 0; x < to.width; ++x) {
        const std::int64_t row = centred(y, to.height, from.height);
        const std::int64_t column = centred(x, to.width, from.width);
        const bool common = channel < from.channels && row != kNew && column != kNew;
        map.push_back(common ? (channel * from.height + row) * from.width + column : kNew);
      }
    }
  }
  return map;
}

/// For each element of one output of the child the parent's element, or kNew.
std::vector<std::int64_t> map_within_output(const std::vector<Shape>& from, const std::vector<Shape>& to) {
  std::vector<std::int64_t> map{0};
  for (std::size_t axis = 1; axis < to.size(); ++axis) {
    const std::vector<std::int64_t> along = axis_map(from[axis], to[axis]);
    std::vector<std::int64_t> longer;
    longer.reserve(map.size() * along.size());
    for (const std::int64_t outer : map) {
      for (const std::int64_t inner : along) {
        longer.push_back(outer == kNew || inner == kNew ? kNew : outer * from[axis].elements() + inner);
      }
    }
    map = std::move(longer);
  }
  return map;
}

}  // namespace

void copy_common_block(const objective::NamedTensor& from, const std::vector<Shape>& from_axes,
                       objective::NamedTensor& to, const std::vector<Shape>& to_axes) {
  require(!to_axes.empty() && from_axes.size() == to_axes.size(), "tensors of different rank");
  const std::vector<std::int64_t> outputs = axis_map(from_axes.front(), to_axes.front());
  const std::vector<std::int64_t> within = map_within_output(from_axes, to_axes);
  const std::size_t stride = from.values.size() / static_cast<std::size_t>(from_axes.front().elements());
  for (std::size_t output = 0; output < outputs.size(); ++output) {
    if (outputs[output] == kNew) continue;
    const float* source = from.values.data() + static_cast<std::size_t>(outputs[output]) * stride;
    std::transform(within.begin(), within.end(),
                   to.values.begin() + static_cast<std::ptrdiff_t>(output * within.size()),
                   [source](std::int64_t place) { return place == kNew ? 0.0F : source[place]; });
  }
}

void clear_common_outputs(const Shape& from_outputs, objective::NamedTensor& to, const Shape& to_outputs) {
  const std::vector<std::int64_t> outputs = axis_map(from_outputs, to_outputs);
  const std::size_t stride = to.values.size() / outputs.size();
  for (std::size_t output = 0; output < outputs.size(); ++output) {
    if (outputs[output] != kNew)
      std::fill_n(to.values.begin() + static_cast<std::ptrdiff_t>(output * stride), stride, 0.0F);
  }
}

}  // namespace skyline::train
