#include "train/group/backward_pieces.hpp"

#include "skyline/core/error.hpp"

#include <algorithm>

#include <torch/csrc/autograd/autograd.h>

namespace skyline::train {

void BackwardPieces::cut_before(std::size_t layer) {
  require(layer <= layers_, "a cut behind the loss");
  const auto place = std::ranges::lower_bound(first_layers_, layer);
  if (place == first_layers_.end() || *place != layer) {
    first_layers_.insert(place, layer);
  }
}

std::size_t BackwardPieces::piece_of(std::size_t layer) const {
  return static_cast<std::size_t>(std::ranges::upper_bound(first_layers_, layer) - first_layers_.begin()) - 1;
}

/// Clears the state of an earlier pass that may have been given up.
void BackwardPieces::begin() {
  entrances_.clear();
}

at::Tensor BackwardPieces::enter(std::size_t reader, std::size_t source, const at::Tensor& output,
                                 bool wants_gradient) {
  const std::size_t piece = piece_of(reader);
  if (piece == piece_of(source) || !wants_gradient) {
    return output;
  }
  for (const Entrance& known : entrances_) {
    if (known.piece == piece && known.source == source) {
      return known.leaf;
    }
  }
  at::Tensor leaf = output.detach();
  leaf.set_requires_grad(true);
  entrances_.push_back({piece, source, output, leaf});
  return leaf;
}

at::Tensor BackwardPieces::gradient_of(std::size_t source) const {
  at::Tensor sum;
  for (const Entrance& entrance : entrances_) {
    const at::Tensor& gradient = entrance.leaf.grad();
    if (entrance.source == source && gradient.defined()) {
      sum = sum.defined() ? sum.add(gradient) : gradient;
    }
  }
  return sum;
}

bool BackwardPieces::is_entered(std::size_t piece) const {
  return std::ranges::any_of(entrances_, [&](const Entrance& entrance) { return entrance.piece == piece; });
}

void BackwardPieces::leave(std::size_t piece) {
  std::erase_if(entrances_, [&](const Entrance& entrance) { return piece_of(entrance.source) == piece; });
}

void BackwardPieces::pass_on(std::size_t piece, const at::Tensor& gradient) {
  leave(piece);
  for (Entrance& entrance : entrances_) {
    if (entrance.piece == piece) {
      entrance.leaf.mutable_grad() = gradient;
    }
  }
}

void BackwardPieces::differentiate(std::size_t piece, const at::Tensor& loss) {
  torch::autograd::variable_list outputs;
  torch::autograd::variable_list gradients;
  if (piece == piece_of(layers_)) {
    outputs.push_back(loss);
    gradients.emplace_back();
  }
  std::set<std::size_t> seen;
  for (const Entrance& entrance : entrances_) {
    if (piece_of(entrance.source) != piece || !seen.insert(entrance.source).second) {
      continue;
    }
    const at::Tensor gradient = gradient_of(entrance.source);
    if (gradient.defined()) {
      outputs.push_back(entrance.output);
      gradients.push_back(gradient);
    }
  }
  leave(piece);
  if (!outputs.empty()) {
    torch::autograd::backward(outputs, gradients);
  }
}

}  // namespace skyline::train
