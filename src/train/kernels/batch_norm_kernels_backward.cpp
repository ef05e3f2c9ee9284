#include "train/kernels/batch_norm_kernels.hpp"
#include "train/kernels/chunks.hpp"
#include "train/kernels/lanes.hpp"

#include <vector>

namespace skyline::train::kernels {
namespace {

/// The gradients of some rows: one row for each, or one row for all.
template <typename T>
struct RowRange {
  const T* input;
  const T* gradient;
  std::size_t gradient_stride;  // 0 if all share one row
  std::size_t rows;
  std::size_t start;  // index of the first element

  static SKYLINE_INLINE RowRange of(const BatchNormBackward& problem, const RowChunks& chunks,
                                    std::size_t chunk) {
    const std::size_t channels = problem.channels;
    const std::size_t first = chunks.first_row(chunk);
    const bool broadcast = problem.pixels_a_gradient_row > 1;
    const std::size_t row = broadcast ? first / problem.pixels_a_gradient_row : first;
    return {static_cast<const T*>(problem.input.data) + first * channels,
            static_cast<const T*>(problem.gradient.data) + row * channels, broadcast ? 0 : channels,
            chunks.rows_of(chunk), first * channels};
  }
};

RowChunks chunks_of(const BatchNormBackward& problem) {
  const std::size_t group = problem.pixels_a_gradient_row > 1 ? problem.pixels_a_gradient_row : problem.rows;
  return RowChunks::of(problem.rows, problem.channels, group, 2048);
}

template <typename T, bool kRelu>
struct SumsBody {
  const BatchNormBackward& problem;
  const RowRange<T>& range;
  float* sum;
  float* centered_sum;

  template <typename V, std::size_t kBlocks>
  SKYLINE_INLINE void run(std::size_t channel) const {
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
    const T* row = range.input + channel;
    const T* gradient = range.gradient + channel;
    const auto add_row = [&](V* sums_now, V* centered_now) SKYLINE_INLINED {
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
      for (std::size_t k = 0; k < kChains; ++k) add_row(sums[k], centered[k]);
    }
    for (; r < range.rows; ++r) add_row(sums[0], centered[0]);
    store_sums<V, kBlocks, kChains>(sums, sum + channel);
    store_sums<V, kBlocks, kChains>(centered, centered_sum + channel);
  }
};

template <typename T, bool kRelu>
struct ApplyBody {
  const BatchNormBackward& problem;
  const RowRange<T>& range;
  const float* a;
  const float* b;
  const float* c;
  T* output;

  template <typename V, std::size_t kBlocks>
  SKYLINE_INLINE void run(std::size_t channel) const {
    if constexpr (kBlocks > 2) {  // six constants each: more would not stay in registers
      run<V, 2>(channel);
      run<V, 2>(channel + 2 * lanes_of<V>());
    } else {
      rows_of<V, kBlocks>(channel);
    }
  }

  template <typename V, std::size_t kBlocks>
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
    const T* row = range.input + channel;
    const T* gradient = range.gradient + channel;
    T* target = output + range.start + channel;
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

/// @param sums  [chunks, 2, channels]
SKYLINE_MULTI_TARGET void sum_backward(const BatchNormBackward& problem, const RowChunks& chunks,
                                       std::size_t first, std::size_t last, float* sums) {
  with_type_of(problem.input, problem.relu, [&](auto type, auto relu) SKYLINE_INLINED {
    using T = decltype(type);
    for (std::size_t chunk = first; chunk < last; ++chunk) {
      float* sum = sums + (chunk - first) * 2 * chunks.channels;
      const auto range = RowRange<T>::of(problem, chunks, chunk);
      for_channel_pieces(chunks.channels,
                         SumsBody<T, decltype(relu)::value>{problem, range, sum, sum + chunks.channels});
    }
  });
}

SKYLINE_MULTI_TARGET void apply_backward(const BatchNormBackward& problem, const RowChunks& chunks,
                                         std::size_t first, std::size_t last, const float* const (&slopes)[3],
                                         const Values& output) {
  with_type_of(problem.input, problem.relu, [&](auto type, auto relu) SKYLINE_INLINED {
    using T = decltype(type);
    for (std::size_t chunk = first; chunk < last; ++chunk) {
      const auto range = RowRange<T>::of(problem, chunks, chunk);
      for_channel_pieces(chunks.channels,
                         ApplyBody<T, decltype(relu)::value>{problem, range, slopes[0], slopes[1], slopes[2],
                                                             static_cast<T*>(output.data)});
    }
  });
}

}  // namespace

void backward_sums(const BatchNormBackward& problem, double* sum, double* centered_sum) {
  const RowChunks chunks = chunks_of(problem);
  std::vector<double> totals(2 * problem.channels, 0.0);
  add_chunks(chunks, totals.size(), totals.data(), [&](std::size_t first, std::size_t last, float* some) {
    sum_backward(problem, chunks, first, last, some);
  });
  const auto middle = totals.begin() + static_cast<std::ptrdiff_t>(problem.channels);
  std::copy(totals.begin(), middle, sum);
  std::copy(middle, totals.end(), centered_sum);
}

void backward_apply(const BatchNormBackward& problem, const float* a, const float* b, const float* c,
                    const Values& output) {
  const RowChunks chunks = chunks_of(problem);
  in_parallel(chunks.count(), chunks.elements(), [&](std::size_t first, std::size_t last) {
    apply_backward(problem, chunks, first, last, {a, b, c}, output);
  });
}

}  // namespace skyline::train::kernels
