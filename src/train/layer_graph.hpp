#pragma once

#include "skyline/space/network.hpp"
#include "skyline/train/layer_op.hpp"

#include "train/parameter_store.hpp"

#include <cstdint>
#include <memory>
#include <vector>

#include <ATen/core/Tensor.h>

namespace skyline::train {

/// The ops of a network in order, with neighbours fused where their ops can, run by hand: no autograd.
class LayerGraph {
 public:
  /// `network` and `parameters` outlive the graph.
  LayerGraph(const space::Network& network, ParameterStore& parameters);

  /// Training mode: the output of the last layer. @param step_seed  of the ops' random numbers
  at::Tensor forward(const at::Tensor& images, std::uint64_t step_seed);
  /// Gradients of all parameters. @param gradient  of the loss by the output
  void backward(at::Tensor gradient);
  /// Evaluation mode; call prepare_inference after the parameters have changed.
  at::Tensor infer(const at::Tensor& images);
  void prepare_inference();

 private:
  static constexpr std::size_t kImages = static_cast<std::size_t>(-1);
  struct Node {
    std::unique_ptr<LayerOp> op;
    std::vector<std::size_t> inputs;  // nodes, or kImages
    std::size_t readers = 0;
    bool wants_input_gradient = false;
    bool has_parameters = false;  // of its own or before it
  };

  void add_layer(const space::Network& network, std::size_t index, ParameterStore& parameters);
  template <typename Run>
  at::Tensor run(const at::Tensor& images, const Run& op_run);

  std::vector<std::size_t> layer_readers_;
  std::vector<std::size_t> node_of_layer_;
  std::vector<Node> nodes_;
};

}  // namespace skyline::train
