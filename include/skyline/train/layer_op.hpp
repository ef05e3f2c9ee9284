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
/// device that trains. Parameters are views of memory that the trainer owns; 4-D ones are in the order of
/// activations (LayerOp). It outlives the layer's op.
class LayerTensors {
 public:
  virtual ~LayerTensors() = default;
  /// Returns the parameter or buffer `name` of the layer. @throws InternalError if there is none
  virtual at::Tensor& value(std::string_view name) = 0;
  /// Returns the gradient of a parameter. An op sets it in each backward pass, with the same shape and in
  /// memory of its own, and leaves that alone afterwards; the trainer takes it away after use. As long as it
  /// is undefined, the optimizer does not change the parameter.
  virtual at::Tensor& gradient(std::string_view name) = 0;
  /// Returns whether the layer has a parameter or buffer of this name.
  virtual bool has(std::string_view name) const = 0;
};

using Activations = std::vector<at::Tensor>;

/// A layer of one trial at run time, given by its definition. Activations are float32 [samples, channels,
/// height, width]; a flat vector is [samples, features, 1, 1]. They are dense, in channels_last order on CPUs
/// and in tf32 and bf16, and in planes (contiguous) in fp32 on GPUs: an op that goes by the order asks the
/// tensor. One thread uses it. An exception from it fails the trial with its text.
class LayerOp {
 public:
  virtual ~LayerOp() = default;

  /// Computes the layer by its definition in plain, differentiable ATen calls, and doesn't change the inputs.
  /// A layer needs no more than this: it runs on the CPU and on devices, and autograd differentiates it.
  /// Where its network is measured in int8, inputs and tensors are float64.
  virtual at::Tensor reference(const Activations& inputs, bool training) = 0;
  /// Returns whether the device work of `reference` may be recorded and repeated without calling it: it reads
  /// nothing on the host that changes from step to step, and waits for nothing.
  virtual bool may_be_recorded() const { return false; }

  /// Called before each part of a training step; for ops that draw. All parts have the step's seed, and
  /// differ by the place that begin_part gives.
  /// @param seed  seed of the step, the only allowed source of random numbers, so that a resumed trial draws
  ///              the same
  virtual void begin_step(std::uint64_t /*seed*/) {}
  /// Called after begin_step with the first sample of the part of the batch that is trained next: a member's
  /// share, or a piece of it. For ops that draw by place. A part may have no samples at all.
  virtual void begin_part(std::size_t /*first_sample*/) {}
};

/// A layer with hand-written passes, for speed; its definition serves as the oracle of their tests. forward()
/// stores what backward() needs; backward() releases it.
class FusedOp : public LayerOp {
 public:
  /// Computes the forward pass in training mode.
  /// @param inputs  one for each of Layer::inputs
  virtual at::Tensor forward(const Activations& inputs) = 0;
  /// Computes the backward pass and sets the gradients of the layer's parameters.
  /// @param gradient              gradient of the loss by the output; owned by the op, which may overwrite it
  /// @param wants_input_gradient  false if nothing before this layer has parameters; the result is then not
  ///                              used
  /// @return  gradients of the loss by the inputs, no two in the same memory; undefined ones count as zeros
  virtual Activations backward(at::Tensor gradient, bool wants_input_gradient) = 0;
  /// Computes the forward pass in evaluation mode, and keeps nothing. It may overwrite inputs that nobody
  /// else holds.
  virtual at::Tensor infer(const Activations& inputs) = 0;
};

/// Makes the op of a layer. `tensors` outlives the op.
using LayerOpFactory = std::unique_ptr<LayerOp> (*)(const space::Layer& layer, LayerTensors& tensors);

/// Adds a kind of layer; call it before run_program. @throws InternalError if the name is taken; if it is
/// that of a built-in kind, when the first network is built
void register_layer_op(std::string_view kind, LayerOpFactory factory);

}  // namespace skyline::train
