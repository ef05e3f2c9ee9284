#include "skyline/train/layer_op.hpp"

#include "skyline/core/error.hpp"

#include "core/registry.hpp"
#include "train/graph/autograd_op.hpp"
#include "train/graph/layer_graph.hpp"
#include "train/ops/built_in_ops.hpp"

#include <utility>

namespace skyline::train {
namespace {

// Tensors of the size of its output that an op keeps for its backward pass. LibTorch keeps some of its own
// where it differentiates the op: measured on CPUs.
constexpr int kByAutograd = 2;
constexpr int kOwnPasses = 1;
constexpr int kNorm = 4;

/// How the op of a kind is made: the one or the other.
struct OpFactories {
  MakeOp* anywhere = nullptr;
  MakePlacedOp* placed = nullptr;
  bool takes_bfloat16 = true;  // if it has passes of its own
  int outputs_kept = kByAutograd;
};

using Factories = Registry<OpFactories>;

Factories& registry() {
  static Factories factories("layer op", [](Factories& built_in) {
    built_in.add("adaptive_average_pool", {.anywhere = make_adaptive_average_pool_op});
    built_in.add("adaptive_max_pool", {.anywhere = make_adaptive_max_pool_op});
    built_in.add("add", {.anywhere = make_add_op, .outputs_kept = kOwnPasses});
    built_in.add("average_pool", {.anywhere = make_average_pool_op});
    built_in.add("batch_norm", {.placed = make_batch_norm_op, .outputs_kept = kOwnPasses});
    built_in.add("concat", {.anywhere = make_concat_op, .outputs_kept = kOwnPasses});
    built_in.add("conv1d", {.anywhere = make_conv1d_op});
    built_in.add("conv2d", {.placed = make_conv2d_op, .outputs_kept = kOwnPasses});
    built_in.add("depthwise_conv2d", {.placed = make_conv2d_op, .outputs_kept = kOwnPasses});
    built_in.add("dropout", {.placed = make_dropout_op, .outputs_kept = kOwnPasses});
    built_in.add("elu", {.anywhere = make_elu_op});
    built_in.add("flatten", {.anywhere = make_flatten_op, .outputs_kept = kOwnPasses});
    built_in.add("gelu", {.anywhere = make_gelu_op});
    built_in.add("global_average_pool",
                 {.anywhere = make_global_average_pool_op, .outputs_kept = kOwnPasses});
    built_in.add("global_max_pool", {.anywhere = make_global_max_pool_op});
    built_in.add("group_norm", {.anywhere = make_group_norm_op, .outputs_kept = kNorm});
    built_in.add("hard_sigmoid", {.anywhere = make_hard_sigmoid_op});
    built_in.add("hard_swish", {.anywhere = make_hard_swish_op});
    built_in.add("identity", {.anywhere = make_identity_op});
    built_in.add("instance_norm", {.anywhere = make_instance_norm_op, .outputs_kept = kNorm});
    built_in.add("layer_norm", {.anywhere = make_layer_norm_op, .outputs_kept = kNorm});
    built_in.add("leaky_relu", {.anywhere = make_leaky_relu_op});
    built_in.add("linear", {.placed = make_linear_op, .outputs_kept = kOwnPasses});
    built_in.add("max_pool", {.anywhere = make_max_pool_op, .outputs_kept = kOwnPasses});
    built_in.add("multi_head_self_attention", {.anywhere = make_multi_head_self_attention_op});
    built_in.add("multiply", {.anywhere = make_multiply_op, .outputs_kept = kOwnPasses});
    built_in.add("patch_embedding", {.anywhere = make_patch_embedding_op});
    built_in.add("prelu", {.anywhere = make_prelu_op});
    built_in.add("relu", {.anywhere = make_relu_op, .outputs_kept = kOwnPasses});
    built_in.add("relu6", {.anywhere = make_relu6_op});
    built_in.add("separable_conv2d", {.anywhere = make_separable_conv2d_op});
    built_in.add("sigmoid", {.anywhere = make_sigmoid_op});
    built_in.add("silu", {.anywhere = make_silu_op});
    built_in.add("softmax", {.anywhere = make_softmax_op});
    built_in.add("squeeze_excitation", {.anywhere = make_squeeze_excitation_op});
    built_in.add("stochastic_depth", {.placed = make_stochastic_depth_op});
    built_in.add("tanh", {.anywhere = make_tanh_op});
    built_in.add("zero", {.anywhere = make_zero_op});
  });
  return factories;
}

}  // namespace

void register_layer_op(std::string_view kind, LayerOpFactory factory) {
  registry().add(kind, {.anywhere = factory, .takes_bfloat16 = false});
}

GraphOp make_graph_op(const space::Layer& layer, StoredLayer& tensors, const DevicePlace& place) {
  const OpFactories* make = registry().find(layer.kind);
  if (make == nullptr) {
    throw InternalError("the trainer has no op for layers of kind `" + layer.kind + "`");
  }
  auto op = make->placed != nullptr ? make->placed(layer, tensors, place) : make->anywhere(layer, tensors);
  const bool has_passes = dynamic_cast<FusedOp*>(op.get()) != nullptr;
  return {with_passes(std::move(op), tensors), make->takes_bfloat16 && has_passes};
}

int outputs_kept(std::string_view kind) {
  const OpFactories* make = registry().find(kind);
  return make == nullptr ? kByAutograd : make->outputs_kept;
}

std::vector<std::string> layer_op_kinds() {
  return registry().names();
}

}  // namespace skyline::train
