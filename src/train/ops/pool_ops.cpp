#include "skyline/space/window.hpp"

#include "train/device/device_place.hpp"
#include "train/ops/op_list.hpp"
#include "train/ops/op_tensors.hpp"

#include <tuple>

#include <ATen/core/Tensor.h>
#include <ATen/ops/adaptive_avg_pool2d.h>
#include <ATen/ops/adaptive_max_pool2d.h>
#include <ATen/ops/avg_pool2d.h>
#include <ATen/ops/div.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/max_pool2d_with_indices.h>
#include <ATen/ops/max_pool2d_with_indices_backward.h>
#include <ATen/ops/mean.h>
#include <ATen/ops/scalar_tensor.h>

namespace skyline::train {
namespace {

class MaxPoolOp final : public FusedOp {
 public:
  explicit MaxPoolOp(const space::Layer& layer) : window_(space::Window::of_pool(layer)) {}

  at::Tensor reference(const Activations& inputs, bool /*training*/) override {
    return std::get<0>(pool(inputs.front()));
  }

  bool may_be_recorded() const override { return true; }

  at::Tensor forward(const Activations& inputs) override {
    input_ = inputs.front();
    auto [output, indices] = pool(input_);
    indices_ = indices;
    return output;
  }

  Activations backward(at::Tensor gradient, bool /*wants_input_gradient*/) override {
    at::Tensor input_gradient = at::max_pool2d_with_indices_backward(
        gradient, input_, window_.kernel, window_.stride, window_.padding, {1, 1}, false, indices_);
    input_.reset();
    indices_.reset();
    return {input_gradient};
  }

  at::Tensor infer(const Activations& inputs) override { return std::get<0>(pool(inputs.front())); }

 private:
  std::tuple<at::Tensor, at::Tensor> pool(const at::Tensor& input) const {
    return at::max_pool2d_with_indices(input, window_.kernel, window_.stride, window_.padding);
  }

  space::Window window_;
  at::Tensor input_;
  at::Tensor indices_;
};

class GlobalAveragePoolOp final : public FusedOp {
 public:
  GlobalAveragePoolOp(const space::Layer& /*layer*/, const DevicePlace& place) : place_(place) {}

  at::Tensor reference(const Activations& inputs, bool /*training*/) override {
    return at::mean(inputs.front(), {2, 3}, true);
  }

  bool may_be_recorded() const override { return true; }

  at::Tensor forward(const Activations& inputs) override {
    shape_ = inputs.front().sizes().vec();
    return at::mean(inputs.front(), {2, 3}, true);
  }

  Activations backward(at::Tensor gradient, bool /*wants_input_gradient*/) override {
    const auto pixels = static_cast<double>(shape_[2] * shape_[3]);
    at::Tensor input_gradient = at::empty(shape_, gradient.options(), place_.order);
    return {at::div_out(input_gradient, gradient.expand(shape_), at::scalar_tensor(pixels))};
  }

  at::Tensor infer(const Activations& inputs) override { return at::mean(inputs.front(), {2, 3}, true); }

 private:
  const DevicePlace& place_;
  std::vector<std::int64_t> shape_;
};

}  // namespace

void add_pool_ops(OpList& ops) {
  ops.add("adaptive_average_pool",
          by_function_of_layer([](const space::Layer& layer, LayerTensors& /*tensors*/) {
            return [height = layer.output.height, width = layer.output.width](const at::Tensor& input) {
              return at::adaptive_avg_pool2d(input, {height, width});
            };
          }));
  ops.add("adaptive_max_pool", by_function_of_layer([](const space::Layer& layer, LayerTensors& /*tensors*/) {
            return [height = layer.output.height, width = layer.output.width](const at::Tensor& input) {
              return std::get<0>(at::adaptive_max_pool2d(input, {height, width}));
            };
          }));
  ops.add("average_pool", by_function_of_layer([](const space::Layer& layer, LayerTensors& /*tensors*/) {
            return [window = space::Window::of_pool(layer)](const at::Tensor& input) {
              return at::avg_pool2d(input, window.kernel, window.stride, window.padding, /*ceil_mode=*/false,
                                    /*count_include_pad=*/false);
            };
          }));
  ops.add("global_average_pool", of_class<GlobalAveragePoolOp>());
  ops.add("global_max_pool", by_function([](const at::Tensor& input) {
            return std::get<0>(at::adaptive_max_pool2d(input, {1, 1}));
          }));
  ops.add("max_pool", of_class<MaxPoolOp>());
}

}  // namespace skyline::train
