#include "train/graph/layer_graph.hpp"

#include "skyline/core/error.hpp"
#include "skyline/space/layer_kind.hpp"

#include <algorithm>

#include <ATen/ops/zeros_like.h>

namespace skyline::train {

LayerGraph::LayerGraph(const space::Network& network, ParameterStore& parameters, DevicePlace& place)
    : place_(place), layer_readers_(network.layers.size(), 0) {
  for (const space::Layer& layer : network.layers) {
    for (const std::size_t input : layer.inputs) ++layer_readers_[input];
  }
  for (std::size_t i = 0; i < network.layers.size(); ++i) add_layer(network, i, parameters);
}

void LayerGraph::add_layer(const space::Network& network, std::size_t index, ParameterStore& parameters) {
  const space::Layer& layer = network.layers[index];
  const bool alone = layer.inputs.size() == 1 && layer_readers_[layer.inputs.front()] == 1;
  if (alone && layer.tensors.empty()) {
    const std::size_t before = node_of_layer_[layer.inputs.front()];
    if (nodes_[before].fusing != nullptr && nodes_[before].fusing->absorb(layer)) {
      node_of_layer_.push_back(before);
      return;
    }
  }
  Node node;
  node.tensors = &parameters.layer(index);
  if (traits_of(layer).draws) place_.drawing_layers.push_back(layer.name);
  GraphOp made = make_graph_op(layer, *node.tensors, place_);
  node.op = std::move(made.op);
  node.fusing = dynamic_cast<FusingOp*>(node.op.get());
  node.takes_bfloat16 = made.takes_bfloat16;
  node.layer = index;
  for (const std::size_t input : layer.inputs) node.inputs.push_back(node_of_layer_[input]);
  if (node.inputs.empty()) node.inputs.push_back(kImages);
  for (const std::size_t input : node.inputs) {
    if (input != kImages) {
      ++nodes_[input].readers;
      node.wants_input_gradient = node.wants_input_gradient || nodes_[input].has_parameters;
    }
  }
  node.has_parameters = node.wants_input_gradient || !layer.tensors.empty();
  if (alone && node.fusing != nullptr) {
    FusingOp* const producer = nodes_[node.inputs.front()].fusing;
    if (producer != nullptr) node.fusing->follow(*producer);
  }
  node_of_layer_.push_back(nodes_.size());
  nodes_.push_back(std::move(node));
}

/// Returns the inputs of a node. The last reader of an output owns it.
Activations LayerGraph::inputs_of(const Node& node, const at::Tensor& images,
                                  std::vector<at::Tensor>& outputs,
                                  std::vector<std::size_t>& readers_left) const {
  Activations inputs;
  for (const std::size_t input : node.inputs) {
    if (input == kImages) {
      inputs.push_back(images);
    } else if (--readers_left[input] == 0) {
      inputs.push_back(std::move(outputs[input]));
    } else {
      inputs.push_back(outputs[input]);
    }
    if (!node.takes_bfloat16 && inputs.back().scalar_type() != at::kFloat) {
      inputs.back() = inputs.back().to(at::kFloat);
    }
  }
  return inputs;
}

template <typename Run>
at::Tensor LayerGraph::run(const at::Tensor& images, const Run& op_run) {
  require(!nodes_.empty(), "a network without layers");
  std::vector<at::Tensor> outputs(nodes_.size());
  std::vector<std::size_t> readers_left(nodes_.size());
  for (std::size_t n = 0; n < nodes_.size(); ++n) {
    outputs[n] = op_run(*nodes_[n].op, inputs_of(nodes_[n], images, outputs, readers_left));
    nodes_[n].output_type = outputs[n].scalar_type();
    readers_left[n] = nodes_[n].readers;
    if (watch_) watch_(StepWork::kForward, nodes_[n].layer);
  }
  return outputs[node_of_layer_.back()];
}

at::Tensor LayerGraph::forward(const at::Tensor& images, const StepPart& part) {
  is_prepared_ = false;
  return run(images, [&](FusedOp& op, const Activations& inputs) {
    op.begin_step(part.seed);
    op.begin_part(part.first_sample);
    return op.forward(inputs);
  });
}

at::Tensor LayerGraph::infer(const at::Tensor& images) {
  if (!std::exchange(is_prepared_, true)) {
    // Goes backwards, because a reader decides what its producer folds in.
    for (auto node = nodes_.rbegin(); node != nodes_.rend(); ++node) {
      if (node->fusing != nullptr) node->fusing->prepare_inference();
    }
  }
  return run(images, [](FusedOp& op, const Activations& inputs) { return op.infer(inputs); });
}

bool LayerGraph::may_be_recorded() const {
  return !place_.has_own_kernels() &&
         std::ranges::all_of(nodes_, [](const Node& node) { return node.op->may_be_recorded(); });
}

void LayerGraph::backward(at::Tensor gradient, const std::function<void(std::size_t)>& layer_done) {
  std::vector<at::Tensor> gradients(nodes_.size());
  gradients[node_of_layer_.back()] = std::move(gradient);
  for (std::size_t n = nodes_.size(); n-- > 0;) {
    if (!gradients[n].defined()) {
      clear_gradients(nodes_[n]);
    } else if (nodes_[n].has_parameters) {
      backward(nodes_[n], std::move(gradients[n]), gradients);
    }
    if (watch_) watch_(StepWork::kBackward, nodes_[n].layer);
    if (layer_done) layer_done(nodes_[n].layer);
  }
}

/// Sets zero gradients for a node on which the output does not depend.
void LayerGraph::clear_gradients(const Node& node) {
  for (StoredTensor& tensor : node.tensors->tensors()) {
    if (tensor.trainable) tensor.gradient = at::zeros_like(tensor.value);
  }
}

/// @param gradients  by the output of each node; this function adds those by this node's inputs
void LayerGraph::backward(const Node& node, at::Tensor gradient, std::vector<at::Tensor>& gradients) {
  if (gradient.scalar_type() != node.output_type) gradient = gradient.to(node.output_type);
  Activations by_input = node.op->backward(std::move(gradient), node.wants_input_gradient);
  if (!node.wants_input_gradient) return;
  for (std::size_t i = 0; i < by_input.size(); ++i) {
    const std::size_t input = node.inputs[i];
    if (input == kImages || !by_input[i].defined()) continue;
    if (gradients[input].defined()) {
      gradients[input].add_(by_input[i]);
    } else {
      gradients[input] = std::move(by_input[i]);
    }
  }
}

}  // namespace skyline::train
