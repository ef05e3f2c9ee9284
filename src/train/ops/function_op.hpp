#pragma once

#include "skyline/train/layer_op.hpp"

#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include <ATen/core/Tensor.h>

namespace skyline::train {

/// A layer with one input whose definition is a function, in training and in evaluation mode alike.
/// @param definition  at::Tensor(const at::Tensor& input); reads nothing that changes but tensors
template <typename Definition>
std::unique_ptr<LayerOp> function_op(Definition definition) {
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
  return std::make_unique<FunctionOp>(std::move(definition));
}

/// A tensor of a layer; nothing if the layer has none of that name.
inline std::optional<at::Tensor> tensor_if_any(LayerTensors& tensors, std::string_view name) {
  return tensors.has(name) ? std::optional<at::Tensor>(tensors.value(name)) : std::nullopt;
}

}  // namespace skyline::train
