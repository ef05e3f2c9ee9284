#pragma once

#include "train/device/device_place.hpp"
#include "train/ops/fusing_op.hpp"
#include "train/ops/op_tensors.hpp"

#include <memory>

#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/batch_norm.h>

namespace skyline::train {

/// The definition of batch normalization, and the parts that its ops for all devices share.
class BatchNormDefinition : public FusingOp {
 public:
  BatchNormDefinition(const space::Layer& layer, LayerTensors& tensors, const DevicePlace& place)
      : tensors_(tensors),
        place_(place),
        momentum_(space::attribute_number(layer, "momentum")),
        epsilon_(space::attribute_number(layer, "epsilon")) {}

  at::Tensor reference(const Activations& inputs, bool training) final {
    const at::Tensor& input = inputs.front();
    at::Tensor mean = tensors_.value("running_mean");
    at::Tensor variance = tensors_.value("running_var");
    if (training && input.numel() == weight().numel()) {
      // A single row has a mean but no variance, so the running variance stays; ATen's would become NaN.
      const at::NoGradGuard no_gradients;
      mean.mul_(1 - momentum_).add_(input.reshape({-1}).to(mean.scalar_type()), momentum_);
      mean = variance = at::Tensor();
    }
    return at::batch_norm(input, weight(), bias(), mean, variance, training, momentum_, epsilon_, true);
  }

  bool may_be_recorded() const final { return true; }
  void follow(FusingOp& producer) override { producer_offset_ = producer.defer_offset(); }

 protected:
  at::Tensor& weight() { return tensors_.value("weight"); }
  at::Tensor& bias() { return tensors_.value("bias"); }
  at::Tensor& running_mean() { return tensors_.value("running_mean"); }
  at::Tensor& running_variance() { return tensors_.value("running_var"); }

  void set_gradients(const at::Tensor& by_weight, const at::Tensor& by_bias) {
    tensors_.gradient("weight") = by_weight;
    tensors_.gradient("bias") = by_bias;
  }

  LayerTensors& tensors_;
  const DevicePlace& place_;
  double momentum_;
  double epsilon_;
  const at::Tensor* producer_offset_ = nullptr;  // left out by the producer; changes only the mean
  at::Tensor input_;                             // input of the step, until backward
  double rows_ = 0;                              // rows of the batch; of all members if they synchronize
};

/// Makes an op with our kernels for CPUs, or the op for devices where these cannot be used.
std::unique_ptr<LayerOp> make_batch_norm_op(const space::Layer& layer, LayerTensors& tensors,
                                            const DevicePlace& place);
std::unique_ptr<LayerOp> make_device_batch_norm_op(const space::Layer& layer, LayerTensors& tensors,
                                                   const DevicePlace& place);

}  // namespace skyline::train
