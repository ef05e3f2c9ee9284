#pragma once

#include <vector>

#include <ATen/core/Tensor.h>

namespace skyline::train {

/// The sum of the squares of all values, float32 [], on their device.
at::Tensor square_sum(const std::vector<at::Tensor>& values);

/// Scales the gradients in place so that their common norm is at most `most`, with PyTorch's formula.
/// @param squares  float32 []: the square of their norm, which may be that of more gradients
/// @see torch.nn.utils.clip_grad_norm_
void clip(const std::vector<at::Tensor>& gradients, const at::Tensor& squares, double most);

}  // namespace skyline::train
