#pragma once

#include "skyline/space/network.hpp"
#include "skyline/train/layer_op.hpp"

#include "train/device/device_place.hpp"
#include "train/ops/fusing_op.hpp"
#include "train/parameters/parameter_store.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>

namespace skyline::train {

/// Makes the thread's tensor operations skip autograd in a scope, as cheaply as c10::InferenceMode. Unlike
/// there, ops that autograd differentiates can use the tensors of the scope.
class WithoutAutograd {
  at::NoGradGuard no_gradients_;
  at::AutoDispatchBelowAutograd below_;
};

/// The op of a layer in a graph.
struct GraphOp {
  std::unique_ptr<FusedOp> op;
  bool takes_bfloat16 = false;  // if false its inputs are float32, whatever the type of the products
};

/// Gives passes to a layer that has only a definition: autograd differentiates it, layer by layer. An op that
/// has passes is returned unchanged.
/// @param tensors  tensors of the layer; must outlive the op
/// @param order    of activations in memory
std::unique_ptr<FusedOp> with_passes(std::unique_ptr<LayerOp> op, StoredLayer& tensors,
                                     at::MemoryFormat order = at::MemoryFormat::ChannelsLast);

/// Makes the op of a layer for a place, by autograd if it has only a definition. The layer's `tensors` and
/// `place` must outlive the op. @throws InternalError if the trainer does not know the layer's kind
GraphOp make_graph_op(const space::Layer& layer, StoredLayer& tensors, const DevicePlace& place);
/// Returns the number of tensors of its output's size that an op of a kind keeps for its backward pass.
int outputs_kept(std::string_view kind);
/// Returns the kinds that have ops, in alphabetical order.
std::vector<std::string> layer_op_kinds();

/// The input of a training step besides the images.
struct StepPart {
  std::uint64_t seed = 0;        // seed for ops that draw on the host
  std::size_t first_sample = 0;  // place in the batch of the first image
};

enum class StepWork { kBatch, kForward, kLoss, kBackward, kUpdate };

/// Called when a part of a step was computed, or queued on a device.
/// @param layer  layer of kForward and kBackward
using StepWatch = std::function<void(StepWork work, std::size_t layer)>;

/// The ops of a network in order, run by hand; neighbours are fused if their ops can. Its passes must be
/// called inside WithoutAutograd.
class LayerGraph {
 public:
  /// The arguments must outlive the graph.
  /// @param place  place of the parameters; the graph sets the names of the layers that draw
  LayerGraph(const space::Network& network, ParameterStore& parameters, DevicePlace& place);

  /// Computes the forward pass in training mode; returns the output of the last layer.
  at::Tensor forward(const at::Tensor& images, const StepPart& part);
  /// Computes the gradients of all parameters, with zeros where the output does not depend on them.
  /// @param gradient    gradient of the loss by the output
  /// @param layer_done  called when the gradients of this layer and all later ones are complete
  void backward(at::Tensor gradient, const std::function<void(std::size_t layer)>& layer_done = {});
  /// Computes the forward pass in evaluation mode.
  at::Tensor infer(const at::Tensor& images);
  /// Must be called when something other than a training step may have changed the parameters.
  void parameters_changed() { is_prepared_ = false; }
  /// Sets the observer of each layer's passes. A fused layer is reported under the one that absorbed it.
  /// @param watch  empty for none
  void watch(StepWatch watch) { watch_ = std::move(watch); }
  /// Returns whether all ops can be recorded; if not, each step needs its seed.
  bool may_be_recorded() const;

 private:
  static constexpr std::size_t kImages = static_cast<std::size_t>(-1);
  struct Node {
    std::unique_ptr<FusedOp> op;
    FusingOp* fusing = nullptr;  // the op, if it works together with others
    bool takes_bfloat16 = false;
    at::ScalarType output_type = at::kFloat;  // type in the last forward pass
    StoredLayer* tensors = nullptr;
    std::size_t layer = 0;            // the layer from which it was made; absorbed layers have no tensors
    std::vector<std::size_t> inputs;  // indices of nodes, or kImages
    std::size_t readers = 0;
    bool wants_input_gradient = false;
    bool has_parameters = false;  // whether this node or an earlier one has parameters
  };

  void add_layer(const space::Network& network, std::size_t index, ParameterStore& parameters);
  static void clear_gradients(const Node& node);
  Activations inputs_of(const Node& node, const at::Tensor& images, std::vector<at::Tensor>& outputs,
                        std::vector<std::size_t>& readers_left) const;
  void backward(const Node& node, at::Tensor gradient, std::vector<at::Tensor>& gradients);
  template <typename Run>
  at::Tensor run(const at::Tensor& images, const Run& op_run);

  DevicePlace& place_;
  std::vector<std::size_t> layer_readers_;
  std::vector<std::size_t> node_of_layer_;
  std::vector<Node> nodes_;
  bool is_prepared_ = false;  // whether inference is prepared for the present parameters
  StepWatch watch_;
};

}  // namespace skyline::train
