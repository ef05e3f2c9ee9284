#include "train/kernels/batch_norm_kernels.hpp"

#include "train/kernels/chunks.hpp"
#include "train/kernels/lanes.hpp"

#include <vector>

namespace skyline::train::kernels {
namespace {

/// Sums and sums of squares of (input - pivot) over some rows.
template <typename T>
struct StatisticsBody {
  const T* input;
  std::size_t rows;
  std::size_t channels;
  const float* pivot;
  float* sum;
  float* square_sum;

  template <typename V, std::size_t kBlocks>
  SKYLINE_INLINE void run(std::size_t channel) const {
    constexpr std::size_t kChains = chains_for<kBlocks>();
    constexpr std::size_t kLanes = lanes_of<V>();
    V sums[kChains][kBlocks] = {};
    V squares[kChains][kBlocks] = {};
    V center[kBlocks];
    for (std::size_t b = 0; b < kBlocks; ++b) center[b] = load<V>(pivot + channel + b * kLanes);
    const T* row = input + channel;
    std::size_t r = 0;
    for (; r + kChains <= rows; r += kChains) {
      for (std::size_t k = 0; k < kChains; ++k, row += channels) {
        add_row<V, kBlocks>(row, center, sums[k], squares[k]);
      }
    }
    for (; r < rows; ++r, row += channels) add_row<V, kBlocks>(row, center, sums[0], squares[0]);
    store_sums<V, kBlocks, kChains>(sums, sum + channel);
    store_sums<V, kBlocks, kChains>(squares, square_sum + channel);
  }

  template <typename V, std::size_t kBlocks>
  static SKYLINE_INLINE void add_row(const T* row, const V* center, V* sums, V* squares) {
    for (std::size_t b = 0; b < kBlocks; ++b) {
      const V value = load<V>(row + b * lanes_of<V>()) - center[b];
      sums[b] += value;
      squares[b] += value * value;
    }
  }
};

/// Chooses a value near the mean of each channel from a few rows, so sums of (input - pivot)^2 cancel little.
std::vector<float> choose_pivot(const Values& input, std::size_t rows, std::size_t channels) {
  const std::size_t probes = std::min<std::size_t>(rows, 16);
  std::vector<float> pivot(channels);
  for (std::size_t p = 0; p < probes; ++p) {
    const std::size_t row = p * rows / probes;
    for (std::size_t c = 0; c < channels; ++c) pivot[c] += input.at(row * channels + c);
  }
  for (float& value : pivot) value /= static_cast<float>(probes);
  return pivot;
}

/// @param sums  [chunks, 2, channels]
SKYLINE_MULTI_TARGET void sum_chunks(const Values& input, const float* pivot, const RowChunks& chunks,
                                     std::size_t first, std::size_t last, float* sums) {
  const std::size_t channels = chunks.channels;
  with_type_of(input, [&](auto type) SKYLINE_INLINED {
    const auto* values = static_cast<const decltype(type)*>(input.data);
    for (std::size_t chunk = first; chunk < last; ++chunk) {
      float* sum = sums + (chunk - first) * 2 * channels;
      for_channel_pieces(channels, StatisticsBody<decltype(type)>{values + chunks.first_row(chunk) * channels,
                                                                  chunks.rows_of(chunk), channels, pivot, sum,
                                                                  sum + channels});
    }
  });
}

/// A factor and an offset for each channel: a value becomes value * scale + shift, or 0 if `relu` is set and
/// that is negative.
struct Affine {
  const float* scale;
  const float* shift;
  bool relu;

  /// Loads the factors and offsets of kBlocks blocks of channels, beginning with `channel`.
  template <typename V, std::size_t kBlocks>
  SKYLINE_INLINE void load_for(std::size_t channel, V* factor, V* offset) const {
    for (std::size_t b = 0; b < kBlocks; ++b) {
      factor[b] = load<V>(scale + channel + b * lanes_of<V>());
      offset[b] = load<V>(shift + channel + b * lanes_of<V>());
    }
  }
};

template <typename T, bool kRelu>
struct ScaleShiftBody {
  const T* input;
  std::size_t rows;
  std::size_t channels;
  Affine affine;
  T* output;

  template <typename V, std::size_t kBlocks>
  SKYLINE_INLINE void run(std::size_t channel) const {
    V factor[kBlocks];
    V offset[kBlocks];
    affine.load_for<V, kBlocks>(channel, factor, offset);
    const T* source = input + channel;
    T* target = output + channel;
    for (std::size_t r = 0; r < rows; ++r, source += channels, target += channels) {
      for (std::size_t b = 0; b < kBlocks; ++b) {
        const std::size_t at = b * lanes_of<V>();
        const V value = load<V>(source + at) * factor[b] + offset[b];
        store(target + at, static_cast<V>(kRelu ? positive_part(value) : value));
      }
    }
  }
};

/// Averages one sample over its pixels.
template <typename T, bool kRelu>
struct PoolBody {
  const T* input;
  std::size_t pixels;
  std::size_t channels;
  Affine affine;
  T* output;

  template <typename V, std::size_t kBlocks>
  SKYLINE_INLINE void run(std::size_t channel) const {
    constexpr std::size_t kChains = chains_for<kBlocks>();
    V factor[kBlocks];
    V offset[kBlocks];
    affine.load_for<V, kBlocks>(channel, factor, offset);
    V sums[kChains][kBlocks] = {};
    const T* row = input + channel;
    std::size_t r = 0;
    for (; r + kChains <= pixels; r += kChains) {
      for (std::size_t k = 0; k < kChains; ++k, row += channels) {
        add_pixel<V, kBlocks>(row, factor, offset, sums[k]);
      }
    }
    for (; r < pixels; ++r, row += channels) add_pixel<V, kBlocks>(row, factor, offset, sums[0]);
    const float share = 1.0F / static_cast<float>(pixels);
    for (std::size_t b = 0; b < kBlocks; ++b) {
      V together = sums[0][b];
      for (std::size_t k = 1; k < kChains; ++k) together += sums[k][b];
      store(output + channel + b * lanes_of<V>(), static_cast<V>(together * share));
    }
  }

  template <typename V, std::size_t kBlocks>
  static SKYLINE_INLINE void add_pixel(const T* row, const V* factor, const V* offset, V* sums) {
    for (std::size_t b = 0; b < kBlocks; ++b) {
      const V value = load<V>(row + b * lanes_of<V>()) * factor[b] + offset[b];
      sums[b] += kRelu ? positive_part(value) : value;
    }
  }
};

SKYLINE_MULTI_TARGET void scale_chunks(const Values& input, const Affine& affine, const RowChunks& chunks,
                                       std::size_t first, std::size_t last, const Values& output) {
  with_type_of(input, affine.relu, [&](auto type, auto relu) SKYLINE_INLINED {
    using T = decltype(type);
    for (std::size_t chunk = first; chunk < last; ++chunk) {
      const std::size_t start = chunks.first_row(chunk) * chunks.channels;
      for_channel_pieces(chunks.channels,
                         ScaleShiftBody<T, decltype(relu)::value>{
                             static_cast<const T*>(input.data) + start, chunks.rows_of(chunk),
                             chunks.channels, affine, static_cast<T*>(output.data) + start});
    }
  });
}

SKYLINE_MULTI_TARGET void pool_samples(const Values& input, const Affine& affine, std::size_t pixels,
                                       std::size_t channels, std::size_t first, std::size_t last,
                                       const Values& output) {
  with_type_of(input, affine.relu, [&](auto type, auto relu) SKYLINE_INLINED {
    using T = decltype(type);
    for (std::size_t s = first; s < last; ++s) {
      for_channel_pieces(channels, PoolBody<T, decltype(relu)::value>{
                                       static_cast<const T*>(input.data) + s * pixels * channels, pixels,
                                       channels, affine, static_cast<T*>(output.data) + s * channels});
    }
  });
}

}  // namespace

void batch_moments(const Values& input, std::size_t rows, std::size_t channels, double* mean,
                   double* variance) {
  std::fill(mean, mean + channels, 0.0);
  std::fill(variance, variance + channels, 0.0);
  if (rows == 0) return;
  const std::vector<float> pivot = choose_pivot(input, rows, channels);
  std::vector<double> sums(2 * channels, 0.0);
  const auto chunks = RowChunks::of(rows, channels, rows, 4096);
  add_chunks(chunks, sums.size(), sums.data(), [&](std::size_t first, std::size_t last, float* some) {
    sum_chunks(input, pivot.data(), chunks, first, last, some);
  });
  const auto count = static_cast<double>(rows);
  for (std::size_t c = 0; c < channels; ++c) {
    const double offset = sums[c] / count;
    mean[c] = static_cast<double>(pivot[c]) + offset;
    variance[c] = std::max(0.0, sums[channels + c] / count - offset * offset);
  }
}

void scale_shift(const Values& input, std::size_t rows, std::size_t channels, const float* scale,
                 const float* shift, bool relu, const Values& output) {
  const auto chunks = RowChunks::of(rows, channels, rows, 4096);
  in_parallel(chunks.count(), chunks.elements(), [&](std::size_t first, std::size_t last) {
    scale_chunks(input, {scale, shift, relu}, chunks, first, last, output);
  });
}

void scale_shift_pool(const Values& input, std::size_t samples, std::size_t pixels, std::size_t channels,
                      const float* scale, const float* shift, bool relu, const Values& output) {
  in_parallel(samples, pixels * channels, [&](std::size_t first, std::size_t last) {
    pool_samples(input, {scale, shift, relu}, pixels, channels, first, last, output);
  });
}

}  // namespace skyline::train::kernels
