#pragma once

#include "skyline/train/layer_op.hpp"

namespace skyline::train {

/// An op that works together with its neighbours: it takes over a layer's work, or leaves a part of its own
/// work to another op.
class FusingOp : public FusedOp {
 public:
  /// Computes what infer() derives from parameters. Called when they have changed since the last infer().
  virtual void prepare_inference() {}

  /// Takes over the work of `next`, the only reader of this layer's output. Returns false and changes nothing
  /// if this op cannot do that; `next` then gets its own op.
  virtual bool absorb(const space::Layer& /*next*/) { return false; }
  /// Notes that this op is the only reader of the output of `producer`, which outlives it.
  virtual void follow(FusingOp& /*producer*/) {}

  /// Asks this op to leave its constant offset per channel out of its training output, because the reader
  /// subtracts each channel's mean anyway. Returns the offset (a tensor [channels], valid as long as this
  /// op), or nullptr if there is none.
  virtual const at::Tensor* defer_offset() { return nullptr; }
  /// Asks this op to multiply its output in evaluation mode by scale[c] and to add shift[c]; both are read at
  /// prepare_inference(). Returns false if it cannot.
  virtual bool fold_affine(const at::Tensor& /*scale*/, const at::Tensor& /*shift*/) { return false; }
};

}  // namespace skyline::train
