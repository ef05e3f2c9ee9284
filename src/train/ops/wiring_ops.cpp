#include "train/device/device_place.hpp"
#include "train/ops/op_list.hpp"
#include "train/ops/op_tensors.hpp"

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

namespace skyline::train {
namespace {

class FlattenOp final : public FusedOp {
 public:
  FlattenOp(const space::Layer& /*layer*/, const DevicePlace& place) : place_(place) {}

  at::Tensor reference(const Activations& inputs, bool /*training*/) override {
    return as_activation(as_matrix(inputs.front()));
  }

  bool may_be_recorded() const override { return true; }

  at::Tensor forward(const Activations& inputs) override {
    shape_ = inputs.front().sizes().vec();
    return as_activation(as_matrix(inputs.front()));
  }

  Activations backward(at::Tensor gradient, bool /*wants_input_gradient*/) override {
    return {place_.arranged(gradient.contiguous().view(shape_))};
  }

  at::Tensor infer(const Activations& inputs) override { return as_activation(as_matrix(inputs.front())); }

 private:
  const DevicePlace& place_;
  std::vector<std::int64_t> shape_;
};

}  // namespace

void add_wiring_ops(OpList& ops) {
  ops.add("flatten", of_class<FlattenOp>());
  ops.add("identity", by_function([](const at::Tensor& input) { return input; }));
  ops.add("zero", by_function_of_layer([](const space::Layer& layer, LayerTensors& /*tensors*/) {
            return [shape = layer.output](const at::Tensor& input) {
              return input.new_zeros({input.size(0), shape.channels, shape.height, shape.width});
            };
          }));
}

}  // namespace skyline::train
