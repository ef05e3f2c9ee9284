#pragma once

#include "skyline/space/network.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace at {
class Tensor;
}

namespace skyline::train {

/// The tensors of one layer at run time: parameters, buffers and gradients, float32, on the CPU or on the
/// device that trains. Parameters are views of memory that belongs to the ParameterStore; 4-D ones are in
/// channels_last order.
class LayerTensors {
 public:
  virtual ~LayerTensors() = default;
  /// The parameter or buffer `name` of the layer. @throws InternalError if the layer has none of that name
  virtual at::Tensor& value(std::string_view name) = 0;
  /// Gradient of a parameter, for an op to set in each backward pass: same shape, in memory of its own. It is
  /// taken away once it is used. While it is undefined the optimizer leaves the parameter alone.
  virtual at::Tensor& gradient(std::string_view name) = 0;
  virtual bool has(std::string_view name) const = 0;
};

using Activations = std::vector<at::Tensor>;

/// A layer of one trial at run time, by its definition. Activations are float32 [samples, channels, height,
/// width] in channels_last order; a flat vector is [samples, features, 1, 1]. Used by one thread.
class LayerOp {
 public:
  virtual ~LayerOp() = default;

  /// The layer's definition in plain, differentiable ATen calls; inputs are left as they are. It is all that
  /// a layer needs: it runs on the CPU and on devices, and autograd differentiates it.
  virtual at::Tensor reference(const Activations& inputs, bool training) = 0;
  /// Whether the device work of `reference` may be recorded and done again without calling it: it reads
  /// nothing of the host that changes from step to step, and waits for nothing.
  virtual bool may_be_recorded() const { return false; }

  /// Begins a training step; for ops that draw. @param seed  of the step, their only source of random
  /// numbers, so that a resumed trial draws what it would have drawn
  virtual void begin_step(std::uint64_t /*seed*/) {}
  /// Follows begin_step if a member of a group trains its part of the batch: the samples from place
  /// `first_sample` on. For ops that draw by place. A part may have no samples at all.
  virtual void begin_part(std::size_t /*first_sample*/) {}
};

/// A layer with passes written by hand, for speed; its definition is the oracle of their tests. An op keeps
/// between forward and backward what backward needs and lets go of it in backward.
class FusedOp : public LayerOp {
 public:
  /// Forward pass in training mode. @param inputs  one for each of Layer::inputs
  virtual at::Tensor forward(const Activations& inputs) = 0;
  /// Writes the gradients of the layer's parameters.
  /// @param gradient              of the loss by the output; the op's own, it may be overwritten
  /// @param wants_input_gradient  false: nothing before this layer has parameters; the result is not used
  /// @return  gradients of the loss by the inputs, no two in the same memory; undefined ones are zeros
  virtual Activations backward(at::Tensor gradient, bool wants_input_gradient) = 0;
  /// Forward pass in evaluation mode; keeps nothing. An input that nobody else holds may be overwritten.
  virtual at::Tensor infer(const Activations& inputs) = 0;
};

/// Makes the op of a layer. `tensors` outlives the op.
using LayerOpFactory = std::unique_ptr<LayerOp> (*)(const space::Layer& layer, LayerTensors& tensors);

/// Adds a kind of layer; a second one of the same name is an InternalError. Call before the first trial.
void register_layer_op(std::string_view kind, LayerOpFactory factory);
std::vector<std::string> layer_op_kinds();

}  // namespace skyline::train
