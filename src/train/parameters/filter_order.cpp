#include "train/parameters/filter_order.hpp"

#include <algorithm>

namespace skyline::train {
namespace {

/// Transposes each output's matrix [rows, columns].
void transpose(std::span<float> values, std::size_t outputs, std::size_t rows, std::size_t columns) {
  std::vector<float> copy(rows * columns);
  for (std::size_t output = 0; output < outputs; ++output) {
    const std::span<float> matrix = values.subspan(output * copy.size(), copy.size());
    std::ranges::copy(matrix, copy.begin());
    for (std::size_t row = 0; row < rows; ++row) {
      for (std::size_t column = 0; column < columns; ++column) {
        matrix[column * rows + row] = copy[row * columns + column];
      }
    }
  }
}

}  // namespace

void put_in_channels_last(std::span<float> values, std::span<const FilterPlace> filters) {
  for (const FilterPlace& filter : filters) {
    transpose(values.subspan(filter.first), filter.outputs, filter.inputs, filter.pixels);
  }
}

void put_in_planes(std::span<float> values, std::span<const FilterPlace> filters) {
  for (const FilterPlace& filter : filters) {
    transpose(values.subspan(filter.first), filter.outputs, filter.pixels, filter.inputs);
  }
}

}  // namespace skyline::train
