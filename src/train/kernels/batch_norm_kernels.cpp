#include "train/kernels/batch_norm_kernels.hpp"

#include "train/kernels/lanes.hpp"

#include <algorithm>
#include <vector>

namespace skyline::train::kernels {
namespace {

/// Number of rows whose pieces stay in the first-level cache and whose float sums stay accurate.
std::size_t chunk_rows(std::size_t channels) {
  return std::clamp<std::size_t>(4096 / std::max<std::size_t>(channels, 1), 16, 256);
}

/// Adds the sums and sums of squares of (input - pivot) over some rows.
struct StatisticsBody {
  const float* input;
  std::size_t rows;
  std::size_t channels;
  const float* pivot;
  double* sum;
  double* square_sum;

  template <typename V, std::size_t kBlocks>
  SKYLINE_INLINE void run(std::size_t channel) const {
    constexpr std::size_t kChains = chains_for<kBlocks>();
    constexpr std::size_t kLanes = lanes_of<V>();
    V sums[kChains][kBlocks] = {};
    V squares[kChains][kBlocks] = {};
    V center[kBlocks];
    for (std::size_t b = 0; b < kBlocks; ++b) {
      center[b] = load<V>(pivot + channel + b * kLanes);
    }
    const float* row = input + channel;
    std::size_t r = 0;
    for (; r + kChains <= rows; r += kChains) {
      for (std::size_t k = 0; k < kChains; ++k, row += channels) {
        add_row<V, kBlocks>(row, center, sums[k], squares[k]);
      }
    }
    for (; r < rows; ++r, row += channels) {
      add_row<V, kBlocks>(row, center, sums[0], squares[0]);
    }
    add_to_totals<V, kBlocks, kChains>(sums, sum + channel);
    add_to_totals<V, kBlocks, kChains>(squares, square_sum + channel);
  }

  template <typename V, std::size_t kBlocks>
  static SKYLINE_INLINE void add_row(const float* row, const V* center, V* sums, V* squares) {
    for (std::size_t b = 0; b < kBlocks; ++b) {
      const V value = load<V>(row + b * lanes_of<V>()) - center[b];
      sums[b] += value;
      squares[b] += value * value;
    }
  }
};

/// Chooses a value near the mean of each channel from a few rows, so that sums of (input - pivot)^2 cancel
/// little.
void choose_pivot(const float* input, std::size_t rows, std::size_t channels, float* pivot) {
  const std::size_t probes = std::min<std::size_t>(rows, 16);
  std::fill(pivot, pivot + channels, 0.0F);
  for (std::size_t p = 0; p < probes; ++p) {
    const float* row = input + (p * rows / probes) * channels;
    for (std::size_t c = 0; c < channels; ++c) {
      pivot[c] += row[c];
    }
  }
  for (std::size_t c = 0; c < channels; ++c) {
    pivot[c] /= static_cast<float>(probes);
  }
}

struct ScaleShiftBody {
  const float* input;
  std::size_t rows;
  std::size_t channels;
  const float* scale;
  const float* shift;
  bool relu;
  float* output;

  template <typename V, std::size_t kBlocks>
  SKYLINE_INLINE void run(std::size_t channel) const {
    if (relu) {
      rows_of<V, kBlocks, true>(channel);
    } else {
      rows_of<V, kBlocks, false>(channel);
    }
  }

  template <typename V, std::size_t kBlocks, bool kRelu>
  SKYLINE_INLINE void rows_of(std::size_t channel) const {
    constexpr std::size_t kLanes = lanes_of<V>();
    V factor[kBlocks];
    V offset[kBlocks];
    for (std::size_t b = 0; b < kBlocks; ++b) {
      factor[b] = load<V>(scale + channel + b * kLanes);
      offset[b] = load<V>(shift + channel + b * kLanes);
    }
    const float* source = input + channel;
    float* target = output + channel;
    for (std::size_t r = 0; r < rows; ++r, source += channels, target += channels) {
      for (std::size_t b = 0; b < kBlocks; ++b) {
        const std::size_t at = b * kLanes;
        const V value = load<V>(source + at) * factor[b] + offset[b];
        store(target + at, kRelu ? positive_part(value) : value);
      }
    }
  }
};

/// Averages one sample over its pixels.
struct PoolBody {
  const float* input;
  std::size_t pixels;
  std::size_t channels;
  const float* scale;
  const float* shift;
  bool relu;
  float* output;

  template <typename V, std::size_t kBlocks>
  SKYLINE_INLINE void run(std::size_t channel) const {
    if (relu) {
      pixels_of<V, kBlocks, true>(channel);
    } else {
      pixels_of<V, kBlocks, false>(channel);
    }
  }

  template <typename V, std::size_t kBlocks, bool kRelu>
  SKYLINE_INLINE void pixels_of(std::size_t channel) const {
    constexpr std::size_t kChains = chains_for<kBlocks>();
    constexpr std::size_t kLanes = lanes_of<V>();
    V factor[kBlocks];
    V offset[kBlocks];
    for (std::size_t b = 0; b < kBlocks; ++b) {
      factor[b] = load<V>(scale + channel + b * kLanes);
      offset[b] = load<V>(shift + channel + b * kLanes);
    }
    V sums[kChains][kBlocks] = {};
    const float* row = input + channel;
    std::size_t r = 0;
    for (; r + kChains <= pixels; r += kChains) {
      for (std::size_t k = 0; k < kChains; ++k, row += channels) {
        add_pixel<V, kBlocks, kRelu>(row, factor, offset, sums[k]);
      }
    }
    for (; r < pixels; ++r, row += channels) {
      add_pixel<V, kBlocks, kRelu>(row, factor, offset, sums[0]);
    }
    const float share = 1.0F / static_cast<float>(pixels);
    for (std::size_t b = 0; b < kBlocks; ++b) {
      V together = sums[0][b];
      for (std::size_t k = 1; k < kChains; ++k) {
        together += sums[k][b];
      }
      store(output + channel + b * kLanes, static_cast<V>(together * share));
    }
  }

  template <typename V, std::size_t kBlocks, bool kRelu>
  static SKYLINE_INLINE void add_pixel(const float* row, const V* factor, const V* offset, V* sums) {
    for (std::size_t b = 0; b < kBlocks; ++b) {
      const V value = load<V>(row + b * lanes_of<V>()) * factor[b] + offset[b];
      sums[b] += kRelu ? positive_part(value) : value;
    }
  }
};

}  // namespace

SKYLINE_MULTI_TARGET void batch_moments(const float* input, std::size_t rows, std::size_t channels,
                                        double* mean, double* variance) {
  if (rows == 0) {
    std::fill(mean, mean + channels, 0.0);
    std::fill(variance, variance + channels, 0.0);
    return;
  }
  std::vector<float> pivot(channels);
  std::vector<double> sums(2 * channels, 0.0);
  choose_pivot(input, rows, channels, pivot.data());
  const std::size_t step = chunk_rows(channels);
  for (std::size_t first = 0; first < rows; first += step) {
    const StatisticsBody body{
        input + first * channels, std::min(step, rows - first), channels, pivot.data(), sums.data(),
        sums.data() + channels};
    for_channel_pieces(channels, body);
  }
  const auto count = static_cast<double>(rows);
  for (std::size_t c = 0; c < channels; ++c) {
    const double offset = sums[c] / count;
    mean[c] = static_cast<double>(pivot[c]) + offset;
    variance[c] = std::max(0.0, sums[channels + c] / count - offset * offset);
  }
}

void batch_statistics(const float* input, std::size_t rows, std::size_t channels, float* mean,
                      float* variance) {
  std::vector<double> moments(2 * channels);
  batch_moments(input, rows, channels, moments.data(), moments.data() + channels);
  for (std::size_t c = 0; c < channels; ++c) {
    mean[c] = static_cast<float>(moments[c]);
    variance[c] = static_cast<float>(moments[channels + c]);
  }
}

SKYLINE_MULTI_TARGET void scale_shift(const float* input, std::size_t rows, std::size_t channels,
                                      const float* scale, const float* shift, bool relu, float* output) {
  const std::size_t step = chunk_rows(channels);
  for (std::size_t first = 0; first < rows; first += step) {
    const std::size_t start = first * channels;
    for_channel_pieces(channels, ScaleShiftBody{input + start, std::min(step, rows - first), channels, scale,
                                                shift, relu, output + start});
  }
}

SKYLINE_MULTI_TARGET void scale_shift_pool(const float* input, std::size_t samples, std::size_t pixels,
                                           std::size_t channels, const float* scale, const float* shift,
                                           bool relu, float* output) {
  for (std::size_t s = 0; s < samples; ++s) {
    for_channel_pieces(channels, PoolBody{input + s * pixels * channels, pixels, channels, scale, shift, relu,
                                          output + s * channels});
  }
}

}  // namespace skyline::train::kernels
