#pragma once

#include "train/kernels/values.hpp"

#include <algorithm>
#include <cstddef>

/// Batch normalisation, with an optional ReLU and global average pooling after it, on channels_last memory:
/// arrays [rows, channels], where rows = samples * pixels, of floats or bfloat16, all of one type. Sums and
/// values per channel are floats or doubles. Bits depend on the shapes alone, not on the machine or the
/// number of threads: sums run in fixed lanes, and partial sums of a fixed number of rows are added in
/// double, in order.
namespace skyline::train::kernels {

/// Computes mean and (biased) variance of every channel; zeros if there are no rows.
void batch_moments(const Values& input, std::size_t rows, std::size_t channels, double* mean,
                   double* variance);

/// Computes output = input * scale + shift, then ReLU if wanted. In place is allowed.
void scale_shift(const Values& input, std::size_t rows, std::size_t channels, const float* scale,
                 const float* shift, bool relu, const Values& output);

/// Does the same and averages over the pixels of each sample. @param output  [samples, channels]
void scale_shift_pool(const Values& input, std::size_t samples, std::size_t pixels, std::size_t channels,
                      const float* scale, const float* shift, bool relu, const Values& output);

/// The inputs of the backward pass. `gradient` is the gradient by the output of BN + ReLU, [rows, channels].
/// If `pixels_a_gradient_row` is above 1, it has one row for that many rows of the input, which global
/// average pooling gives.
struct BatchNormBackward {
  Values input;
  Values gradient;
  std::size_t rows;
  std::size_t channels;
  std::size_t pixels_a_gradient_row;
  bool relu;
  const float* mean;
  const float* scale;  // weight / deviation
  const float* shift;  // bias - mean * scale
};

/// Computes sum[c] of the masked gradient, and centered_sum[c] of the masked gradient * (input - mean).
void backward_sums(const BatchNormBackward& problem, double* sum, double* centered_sum);

/// Computes output = a * masked gradient + b * (input - mean) + c. In place on the gradient is allowed if it
/// has a row for every row of the input.
void backward_apply(const BatchNormBackward& problem, const float* a, const float* b, const float* c,
                    const Values& output);

}  // namespace skyline::train::kernels
