#include "skyline/space/window.hpp"

#include "train/device/device_place.hpp"
#include "train/ops/fusing_op.hpp"
#include "train/ops/op_list.hpp"
#include "train/ops/op_tensors.hpp"
#include "train/ops/single_pixels.hpp"

#include <array>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>
#include <ATen/ops/conv1d.h>
#include <ATen/ops/conv2d.h>
#include <ATen/ops/convolution.h>
#include <ATen/ops/convolution_backward.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros_like.h>

namespace skyline::train {
namespace {

/// A convolution; also the op of depthwise_conv2d, which has one group per channel.
class Conv2dOp final : public FusingOp {
 public:
  Conv2dOp(const space::Layer& layer, LayerTensors& tensors, const DevicePlace& place)
      : tensors_(tensors),
        place_(place),
        products_(place.type_of_products(layer)),
        window_(space::Window::of(layer, /*along_width=*/false)),
        groups_(layer.input().channels / tensors.value("weight").size(1)),
        has_bias_(tensors.has("bias")) {
    if (place.has_own_kernels() && groups_ == 1 && takes_single_pixels(window_)) {
      std::swap(thinning_, window_.stride);
    }
  }

  at::Tensor reference(const Activations& inputs, bool /*training*/) override {
    return at::conv2d(thinned(inputs.front()), weight(), bias(), window_.stride, window_.padding,
                      window_.dilation, groups_);
  }

  bool may_be_recorded() const override { return true; }

  at::Tensor forward(const Activations& inputs) override {
    shape_ = inputs.front().sizes().vec();
    input_ = place_.arranged(thinned(inputs.front()).to(products_));
    weight_ = place_.arranged(weight().to(products_));
    return convolve(input_, weight_, offset_deferred_ ? std::optional<at::Tensor>() : bias());
  }

  Activations backward(at::Tensor gradient, bool wants_input_gradient) override {
    const bool wants_bias = has_bias_ && !offset_deferred_;
    std::int64_t channels = gradient.size(1);
    auto [input_gradient, weight_gradient, bias_gradient] = at::convolution_backward(
        as_factor(place_.arranged(gradient)), as_factor(std::exchange(input_, {})),
        as_factor(std::exchange(weight_, {})), at::OptionalIntArrayRef(channels), window_.stride,
        window_.padding, window_.dilation, false, {0, 0}, groups_, {wants_input_gradient, true, wants_bias});
    tensors_.gradient("weight") = weight_gradient.to(products_).to(at::kFloat);
    if (has_bias_) {
      tensors_.gradient("bias") = wants_bias ? bias_gradient.to(products_).to(at::kFloat) : no_bias_gradient_;
    }
    return {wants_input_gradient ? spread(input_gradient.to(products_)) : at::Tensor()};
  }

  void prepare_inference() override {
    inference_weight_ = weight();
    inference_bias_ = bias();
    if (scale_ != nullptr) {
      inference_weight_ = weight().mul(scale_->view({-1, 1, 1, 1}));
      inference_bias_ = has_bias_ ? shift_->add(bias()->mul(*scale_)) : *shift_;
    }
    inference_weight_ = place_.arranged(inference_weight_.to(products_));
  }

  at::Tensor infer(const Activations& inputs) override {
    return convolve(place_.arranged(thinned(inputs.front()).to(products_)), inference_weight_,
                    inference_bias_);
  }

  const at::Tensor* defer_offset() override {
    if (!has_bias_) return nullptr;
    offset_deferred_ = true;
    no_bias_gradient_ = at::zeros_like(tensors_.value("bias"));
    return &tensors_.value("bias");
  }

  /// Folds the affine function into weight and bias, but not in bfloat16: weights that are scaled before they
  /// are rounded have other means than the trained ones, to which the later statistics belong.
  bool fold_affine(const at::Tensor& scale, const at::Tensor& shift) override {
    if (products_ == at::kBFloat16) return false;
    scale_ = &scale;
    shift_ = &shift;
    return true;
  }

 private:
  bool is_thinned() const { return thinning_[0] > 1 || thinning_[1] > 1; }

  at::Tensor thinned(const at::Tensor& input) const { return train::thinned(input, thinning_); }
  /// Returns the gradient by the whole input, given that by the pixels that were taken.
  at::Tensor spread(const at::Tensor& gradient) const {
    if (!is_thinned()) return gradient;
    const at::Tensor whole = at::empty(shape_, gradient.options(), place_.order).zero_();
    thinned(whole).copy_(gradient);
    return whole;
  }

  const at::Tensor& weight() { return tensors_.value("weight"); }
  std::optional<at::Tensor> bias() {
    return has_bias_ ? std::optional<at::Tensor>(tensors_.value("bias")) : std::nullopt;
  }

  at::Tensor convolve(const at::Tensor& input, const at::Tensor& weight,
                      const std::optional<at::Tensor>& bias) const {
    const auto offset = bias ? std::optional(as_factor(bias->to(products_))) : std::nullopt;
    return at::convolution(as_factor(input), as_factor(weight), offset, window_.stride, window_.padding,
                           window_.dilation, false, {0, 0}, groups_)
        .to(products_);
  }

  LayerTensors& tensors_;
  const DevicePlace& place_;
  at::ScalarType products_;
  space::Window window_;
  std::array<std::int64_t, 2> thinning_ = {1, 1};  // only every n-th pixel is taken, in each direction
  std::vector<std::int64_t> shape_;                // shape of the step's input
  std::int64_t groups_;
  bool has_bias_;
  bool offset_deferred_ = false;
  at::Tensor no_bias_gradient_;  // exact zeros, used if the reader removes the bias's effect
  at::Tensor weight_;            // weight of the step, in the type of products and the order of activations
  const at::Tensor* scale_ = nullptr;
  const at::Tensor* shift_ = nullptr;
  at::Tensor input_;
  at::Tensor inference_weight_;
  std::optional<at::Tensor> inference_bias_;
};

}  // namespace

void add_convolution_ops(OpList& ops) {
  ops.add("conv1d", by_function_of_layer([](const space::Layer& layer, LayerTensors& tensors) {
            return [&tensors, window = space::Window::of(layer, /*along_width=*/false),
                    groups = space::attribute_integer_or(layer, "groups", 1)](const at::Tensor& input) {
              return at::conv1d(input.squeeze(2), tensors.value("weight"), tensor_if_any(tensors, "bias"),
                                window.stride[1], window.padding[1], window.dilation[1], groups)
                  .unsqueeze(2);
            };
          }));
  ops.add("conv2d", of_class<Conv2dOp>());
  ops.add("depthwise_conv2d", of_class<Conv2dOp>());
  ops.add("separable_conv2d", by_function_of_layer([](const space::Layer& layer, LayerTensors& tensors) {
            return [&tensors,
                    window = space::Window::of(layer, /*along_width=*/false)](const at::Tensor& input) {
              const at::Tensor by_channel =
                  at::conv2d(input, tensors.value("depthwise_weight"), {}, window.stride, window.padding,
                             window.dilation, /*groups=*/input.size(1));
              return at::conv2d(by_channel, tensors.value("weight"), tensor_if_any(tensors, "bias"));
            };
          }));
}

}  // namespace skyline::train
