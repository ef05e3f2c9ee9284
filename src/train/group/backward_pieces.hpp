#pragma once

#include <cstddef>
#include <set>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

namespace skyline::train {

/// Has autograd go through a network in pieces, the last layers first, so that something can be done when it
/// has left some layers behind, on the thread that trains: a group sums their gradients meanwhile. What a
/// piece reads of an earlier one is a leaf of its own there. One piece, as long as nothing is cut: then
/// backward is autograd's, with nothing in between.
class BackwardPieces {
 public:
  /// @param layers  of the network; the loss counts as one more behind them
  explicit BackwardPieces(std::size_t layers) : first_layers_{0}, layers_(layers) {}

  /// A piece begins with this layer.
  void cut_before(std::size_t layer);
  std::size_t count() const { return first_layers_.size(); }
  /// The first layer of a piece.
  std::size_t first_layer(std::size_t piece) const { return first_layers_[piece]; }

  /// Forward begins.
  void begin();
  /// What layer `reader` is to read of the output of layer `source`. @param wants_gradient  by that output
  at::Tensor enter(std::size_t reader, std::size_t source, const at::Tensor& output, bool wants_gradient);

  /// The gradient of the loss by an output that later pieces have read, all of which are done; undefined if
  /// there is none.
  at::Tensor gradient_of(std::size_t source) const;
  /// Whether a piece reads outputs of earlier ones that want a gradient.
  bool is_entered(std::size_t piece) const;
  /// For a piece that is one layer of one input, which was differentiated otherwise.
  /// @param gradient  by what the piece has entered; undefined: there is none
  void pass_on(std::size_t piece, const at::Tensor& gradient);
  /// Goes through a piece: leaves gradients at the parameters, and where the piece has entered.
  /// @param loss  of the piece that has the loss in it
  void differentiate(std::size_t piece, const at::Tensor& loss);

 private:
  /// An output that another piece reads.
  struct Entrance {
    std::size_t piece;  // that reads it
    std::size_t source;
    at::Tensor output;
    at::Tensor leaf;
  };
  std::size_t piece_of(std::size_t layer) const;
  /// Nothing of the piece is needed any more behind it.
  void leave(std::size_t piece);

  std::vector<std::size_t> first_layers_;  // ascending
  std::size_t layers_;
  std::vector<Entrance> entrances_;
};

}  // namespace skyline::train
