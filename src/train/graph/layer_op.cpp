#include "skyline/train/layer_op.hpp"

#include "skyline/core/error.hpp"

#include "core/registry.hpp"
#include "train/graph/layer_graph.hpp"
#include "train/ops/autograd_op.hpp"
#include "train/ops/built_in_ops.hpp"

#include <utility>

namespace skyline::train {
namespace {

/// How the op of a kind is made: the one or the other.
struct OpFactories {
  LayerOpFactory anywhere = nullptr;
  PlacedOpFactory placed = nullptr;
  bool takes_bfloat16 = true;  // if it has passes of its own
};

using Factories = Registry<OpFactories>;

Factories& registry() {
  static Factories factories("layer op", [](Factories& built_in) {
    built_in.add("add", {.anywhere = make_add_op});
    built_in.add("batch_norm", {.placed = make_batch_norm_op});
    built_in.add("concat", {.anywhere = make_concat_op});
    built_in.add("conv2d", {.placed = make_conv2d_op});
    built_in.add("dropout", {.placed = make_dropout_op});
    built_in.add("flatten", {.anywhere = make_flatten_op});
    built_in.add("global_average_pool", {.anywhere = make_global_average_pool_op});
    built_in.add("linear", {.placed = make_linear_op});
    built_in.add("max_pool", {.anywhere = make_max_pool_op});
    built_in.add("multiply", {.anywhere = make_multiply_op});
    built_in.add("relu", {.anywhere = make_relu_op});
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

std::vector<std::string> layer_op_kinds() {
  return registry().names();
}

}  // namespace skyline::train
