#include "train/optimizer/gradient_clip.hpp"

#include <ATen/ops/_foreach_mul.h>
#include <ATen/ops/_foreach_norm.h>
#include <ATen/ops/stack.h>

namespace skyline::train {

at::Tensor square_sum(const std::vector<at::Tensor>& values) {
  return at::stack(at::_foreach_norm(values, 2)).square().sum();
}

void clip(const std::vector<at::Tensor>& gradients, const at::Tensor& squares, double most) {
  constexpr double kSmall = 1e-6;  // PyTorch's
  const at::Tensor factor = squares.sqrt().add(kSmall).reciprocal().mul(most).clamp_max(1.0);
  at::_foreach_mul_(gradients, factor);
}

}  // namespace skyline::train
