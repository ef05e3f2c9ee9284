#pragma once

#include <cstddef>
#include <set>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

namespace skyline::train {

/// Lets autograd go through a network in pieces, the last layers first, so that the training thread can act
/// between them: a group sums the gradients of finished layers meanwhile. An output that a piece reads from
/// an earlier one is a leaf of its own there. Without cuts there is one piece, and backward is plain
/// autograd.
class BackwardPieces {
 public:
  /// @param layers  of the network; the loss counts as one more behind them
  explicit BackwardPieces(std::size_t layers) : first_layers_{0}, layers_(layers) {}

  /// Begins a new piece with this layer.
  void cut_before(std::size_t layer);
  std::size_t count() const { return first_layers_.size(); }
  /// The first layer of a piece.
  std::size_t first_layer(std::size_t piece) const { return first_layers_[piece]; }

  /// Begins a forward pass.
  void begin();
  /// The tensor that layer `reader` reads in place of the output of layer `source`. @param wants_gradient
  /// whether a gradient by that output is needed
  at::Tensor enter(std::size_t reader, std::size_t source, const at::Tensor& output, bool wants_gradient);

  /// The gradient of the loss by an output that later pieces have read, all of which are done; undefined if
  /// there is none.
  at::Tensor gradient_of(std::size_t source) const;
  /// Whether a piece reads outputs of earlier ones that want a gradient.
  bool is_entered(std::size_t piece) const;
  /// Passes on the gradient of a piece of one layer with one input that was differentiated by other means.
  /// @param gradient  by the piece's entered input; undefined: there is none
  void pass_on(std::size_t piece, const at::Tensor& gradient);
  /// Differentiates a piece: leaves gradients at the parameters and at its entered inputs.
  /// @param loss  of the piece that has the loss in it
  void differentiate(std::size_t piece, const at::Tensor& loss);

 private:
  /// An output that another piece reads.
  struct Entrance {
    std::size_t piece;  // the piece that reads it
    std::size_t source;
    at::Tensor output;
    at::Tensor leaf;
  };
  std::size_t piece_of(std::size_t layer) const;
  /// Frees what the piece held: nothing later needs it.
  void leave(std::size_t piece);

  std::vector<std::size_t> first_layers_;  // ascending
  std::size_t layers_;
  std::vector<Entrance> entrances_;
};

}  // namespace skyline::train
