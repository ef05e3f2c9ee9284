#pragma once

#include "train/kernels/values.hpp"

#include <algorithm>
#include <cstddef>

/// Batch normalisation, with an optional ReLU and global average pooling behind it, on channels_last memory:
/// arrays [rows, channels], where rows = samples * pixels, of floats or bfloat16, all of one type. Sums and
/// values per channel are floats or doubles. Bits depend on the shapes alone, not on the machine or the
/// number of threads: sums run in fixed lanes, partial sums of a fixed number of rows are added in double, in
/// order.
namespace skyline::train::kernels {

/// Computes mean and (biased) variance of every channel; zeros if there are no rows.
void batch_moments(const Values& input, std::size_t rows, std::size_t channels, double* mean,
                   double* variance);

/// output = input * scale + shift, then ReLU if asked. In place is allowed.
void scale_shift(const Values& input, std::size_t rows, std::size_t channels, const float* scale,
                 const float* shift, bool relu, const Values& output);

/// Does the same and averages over the pixels of each sample. @param output  [samples, channels]
void scale_shift_pool(const Values& input, std::size_t samples, std::size_t pixels, std::size_t channels,
                      const float* scale, const float* shift, bool relu, const Values& output);

/// The inputs of the backward pass. The gradient by the output of BN + ReLU is `gradient` [rows, channels],
/// or, where `pixels_a_gradient_row` is above 1, one row for that many rows of the input (broadcast, as
/// global average pooling leaves it).
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

/// sum[c] = sum of the masked gradient; centered_sum[c] = sum of the masked gradient * (input - mean).
void backward_sums(const BatchNormBackward& problem, double* sum, double* centered_sum);

/// output = a * masked gradient + b * (input - mean) + c. In place on the gradient is allowed if it has a row
/// for every row of the input.
void backward_apply(const BatchNormBackward& problem, const float* a, const float* b, const float* c,
                    const Values& output);

}  // namespace skyline::train::kernels
