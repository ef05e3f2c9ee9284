#include "train/kernels/batch_norm_kernels.hpp"
#include "train/kernels/lanes.hpp"

#include <algorithm>

namespace skyline::train::kernels {
namespace {

std::size_t chunk_rows(std::size_t channels) {
  return std::clamp<std::size_t>(2048 / std::max<std::size_t>(channels, 1), 16, 256);
}

/// A range of rows with one layout of gradients: one row each, or one row for all.
struct RowRange {
  const float* input;
  const float* gradient;
  std::size_t gradient_stride;  // 0: the same row for all
  std::size_t rows;
  std::size_t start;  // in floats, of the first row
};

template <typename Visit>
SKYLINE_INLINE void for_row_ranges(const BatchNormBackward& problem, const Visit& visit) {
  const std::size_t channels = problem.channels;
  const bool broadcast = problem.pixels_a_gradient_row > 1;
  const std::size_t group = broadcast ? problem.pixels_a_gradient_row : problem.rows;
  const std::size_t step = chunk_rows(channels);
  for (std::size_t base = 0; base < problem.rows; base += group) {
    const std::size_t end = std::min(problem.rows, base + group);
    for (std::size_t first = base; first < end; first += step) {
      const float* gradient = problem.gradient + (broadcast ? base / group : first) * channels;
      visit(RowRange{problem.input + first * channels, gradient, broadcast ? 0 : channels,
                     std::min(step, end - first), first * channels});
    }
  }
}

struct SumsBody {
  const BatchNormBackward& problem;
  const RowRange& range;
  double* sum;
  double* centered_sum;

  template <typename V, std::size_t kBlocks>
  SKYLINE_INLINE void run(std::size_t channel) const {
    if (problem.relu) {
      rows_of<V, kBlocks, true>(channel);
    } else {
      rows_of<V, kBlocks, false>(channel);
    }
  }

  template <typename V, std::size_t kBlocks, bool kRelu>
  SKYLINE_INLINE void rows_of(std::size_t channel) const {
    constexpr std::size_t kChains = chains_for<kBlocks>();
    constexpr std::size_t kLanes = lanes_of<V>();
    V sums[kChains][kBlocks] = {};
    V centered[kChains][kBlocks] = {};
    V mean[kBlocks];
    V factor[kBlocks];
    V offset[kBlocks];
    for (std::size_t b = 0; b < kBlocks; ++b) {
      const std::size_t at = channel + b * kLanes;
      mean[b] = load<V>(problem.mean + at);
      factor[b] = load<V>(problem.scale + at);
      offset[b] = load<V>(problem.shift + at);
    }
    const float* row = range.input + channel;
    const float* gradient = range.gradient + channel;
    const auto add_row = [&](V * sums_now, V * centered_now) __attribute__((always_inline)) {
      for (std::size_t b = 0; b < kBlocks; ++b) {
        const std::size_t at = b * kLanes;
        const V value = load<V>(row + at);
        V part = load<V>(gradient + at);
        if constexpr (kRelu) {
          part = where_positive(static_cast<V>(value * factor[b] + offset[b]), part);
        }
        sums_now[b] += part;
        centered_now[b] += part * (value - mean[b]);
      }
      row += problem.channels;
      gradient += range.gradient_stride;
    };
    std::size_t r = 0;
    for (; r + kChains <= range.rows; r += kChains) {
      for (std::size_t k = 0; k < kChains; ++k) {
        add_row(sums[k], centered[k]);
      }
    }
    for (; r < range.rows; ++r) {
      add_row(sums[0], centered[0]);
    }
    add_to_totals<V, kBlocks, kChains>(sums, sum + channel);
    add_to_totals<V, kBlocks, kChains>(centered, centered_sum + channel);
  }
};

struct ApplyBody {
  const BatchNormBackward& problem;
  const RowRange& range;
  const float* a;
  const float* b;
  const float* c;
  float* output;

  template <typename V, std::size_t kBlocks>
  SKYLINE_INLINE void run(std::size_t channel) const {
    if constexpr (kBlocks > 2) {  // six constants per block: more blocks would not stay in registers
      run<V, 2>(channel);
      run<V, 2>(channel + 2 * lanes_of<V>());
    } else if (problem.relu) {
      rows_of<V, kBlocks, true>(channel);
    } else {
      rows_of<V, kBlocks, false>(channel);
    }
  }

  template <typename V, std::size_t kBlocks, bool kRelu>
  SKYLINE_INLINE void rows_of(std::size_t channel) const {
    constexpr std::size_t kLanes = lanes_of<V>();
    V mean[kBlocks];
    V factor[kBlocks];
    V offset[kBlocks];
    V by_gradient[kBlocks];
    V by_input[kBlocks];
    V constant[kBlocks];
    for (std::size_t k = 0; k < kBlocks; ++k) {
      const std::size_t at = channel + k * kLanes;
      mean[k] = load<V>(problem.mean + at);
      factor[k] = load<V>(problem.scale + at);
      offset[k] = load<V>(problem.shift + at);
      by_gradient[k] = load<V>(a + at);
      by_input[k] = load<V>(b + at);
      constant[k] = load<V>(c + at);
    }
    const float* row = range.input + channel;
    const float* gradient = range.gradient + channel;
    float* target = output + range.start + channel;
    for (std::size_t r = 0; r < range.rows; ++r) {
      for (std::size_t k = 0; k < kBlocks; ++k) {
        const std::size_t at = k * kLanes;
        const V value = load<V>(row + at);
        V part = load<V>(gradient + at);
        if constexpr (kRelu) {
          part = where_positive(static_cast<V>(value * factor[k] + offset[k]), part);
        }
        store(target + at,
              static_cast<V>(part * by_gradient[k] + (value - mean[k]) * by_input[k] + constant[k]));
      }
      row += problem.channels;
      gradient += range.gradient_stride;
      target += problem.channels;
    }
  }
};

}  // namespace

SKYLINE_MULTI_TARGET void backward_sums(const BatchNormBackward& problem, double* sum, double* centered_sum) {
  std::fill(sum, sum + problem.channels, 0.0);
  std::fill(centered_sum, centered_sum + problem.channels, 0.0);
  for_row_ranges(
      problem, [&](const RowRange& range) __attribute__((always_inline)) {
        for_channel_pieces(problem.channels, SumsBody{problem, range, sum, centered_sum});
      });
}

SKYLINE_MULTI_TARGET void backward_apply(const BatchNormBackward& problem, const float* a, const float* b,
                                         const float* c, float* output) {
  for_row_ranges(
      problem, [&](const RowRange& range) __attribute__((always_inline)) {
        for_channel_pieces(problem.channels, ApplyBody{problem, range, a, b, c, output});
      });
}

}  // namespace skyline::train::kernels
