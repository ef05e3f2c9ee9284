#pragma once

#include "skyline/train/layer_op.hpp"

#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/batch_norm.h>

namespace skyline::train {

/// What batch normalization is, on any device.
class BatchNormDefinition : public FusedOp {
 public:
  BatchNormDefinition(const space::Layer& layer, LayerTensors& tensors)
      : tensors_(tensors),
        momentum_(space::attribute_number(layer, "momentum")),
        epsilon_(space::attribute_number(layer, "epsilon")) {}

  at::Tensor reference(const Activations& inputs, bool training) final {
    const at::Tensor& input = inputs.front();
    at::Tensor mean = tensors_.value("running_mean");
    at::Tensor variance = tensors_.value("running_var");
    if (training && input.numel() == weight().numel()) {
      blend_single_row(input);
      mean = variance = at::Tensor();
    }
    return at::batch_norm(input, weight(), bias(), mean, variance, training, momentum_, epsilon_, true);
  }

  bool may_be_recorded() const final { return true; }

 protected:
  at::Tensor& weight() { return tensors_.value("weight"); }
  at::Tensor& bias() { return tensors_.value("bias"); }
  at::Tensor& running_mean() { return tensors_.value("running_mean"); }
  at::Tensor& running_variance() { return tensors_.value("running_var"); }

  /// A single row has a mean but no variance: the running one stays, where ATen's would become NaN.
  void blend_single_row(const at::Tensor& input) {
    const at::NoGradGuard no_gradients;
    running_mean().mul_(1 - momentum_).add_(input.reshape({-1}).to(at::kFloat), momentum_);
  }

  LayerTensors& tensors_;
  double momentum_;
  double epsilon_;
};

}  // namespace skyline::train
