#pragma once

#include "skyline/space/network.hpp"

#include "train/loading/layer_ops.hpp"

#include <memory>
#include <type_traits>
#include <utility>

#include <ATen/core/Tensor.h>

namespace skyline::train {

// The built-in kinds, one function per file.
void add_activation_ops(OpList& ops);
void add_attention_ops(OpList& ops);
void add_convolution_ops(OpList& ops);
void add_dropout_ops(OpList& ops);
void add_linear_ops(OpList& ops);
void add_merge_ops(OpList& ops);
void add_norm_ops(OpList& ops);
void add_pool_ops(OpList& ops);
void add_wiring_ops(OpList& ops);

/// Describes a kind whose ops are objects of a class. The constructor takes the arguments of OpKind::make, or
/// the first ones, or the layer and the place.
template <typename Op>
OpKind of_class() {
  const auto make = [](const space::Layer& layer, [[maybe_unused]] LayerTensors& tensors,
                       [[maybe_unused]] const DevicePlace& place) -> std::unique_ptr<LayerOp> {
    if constexpr (std::is_constructible_v<Op, const space::Layer&, LayerTensors&, const DevicePlace&>) {
      return std::make_unique<Op>(layer, tensors, place);
    } else if constexpr (std::is_constructible_v<Op, const space::Layer&, const DevicePlace&>) {
      return std::make_unique<Op>(layer, place);
    } else if constexpr (std::is_constructible_v<Op, const space::Layer&>) {
      return std::make_unique<Op>(layer);
    } else {
      return std::make_unique<Op>();
    }
  };
  return {.make = make, .outputs_kept = std::is_base_of_v<FusedOp, Op> ? 1 : 2};
}

/// Describes a kind whose layers have one input and compute the same function of it in training and in
/// evaluation mode. The function is made for the layer.
/// @param define  (const space::Layer& layer, LayerTensors& tensors) -> at::Tensor(const at::Tensor& input);
///                the function must read nothing that changes except tensors
template <typename Define>
OpKind by_function_of_layer(Define define) {
  using Definition = std::invoke_result_t<Define, const space::Layer&, LayerTensors&>;
  class FunctionOp final : public LayerOp {
   public:
    explicit FunctionOp(Definition definition) : definition_(std::move(definition)) {}
    at::Tensor reference(const Activations& inputs, bool /*training*/) override {
      return definition_(inputs.front());
    }
    bool may_be_recorded() const override { return true; }

   private:
    Definition definition_;
  };
  return {.make = [define](const space::Layer& layer, LayerTensors& tensors, const DevicePlace& /*place*/) {
    return std::make_unique<FunctionOp>(define(layer, tensors));
  }};
}

/// Does the same for a kind whose layers all compute one function.
/// @param definition  at::Tensor(const at::Tensor& input)
template <typename Definition>
OpKind by_function(Definition definition) {
  return by_function_of_layer(
      [definition](const space::Layer& /*layer*/, LayerTensors& /*tensors*/) { return definition; });
}

}  // namespace skyline::train
