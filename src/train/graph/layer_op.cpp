#include "skyline/train/layer_op.hpp"

#include "skyline/core/error.hpp"

#include "train/graph/autograd_op.hpp"
#include "train/graph/layer_graph.hpp"
#include "train/ops/op_list.hpp"

#include <string>
#include <utility>

namespace skyline::train {
namespace {

OpList& registry() {
  static OpList registered("layer op", [](OpList& built_in) {
    for (const auto add : {add_activation_ops, add_attention_ops, add_convolution_ops, add_dropout_ops,
                           add_linear_ops, add_merge_ops, add_norm_ops, add_pool_ops, add_wiring_ops}) {
      add(built_in);
    }
  });
  return registered;
}

}  // namespace

void register_layer_op(std::string_view kind, LayerOpFactory factory) {
  const auto make = [factory](const space::Layer& layer, LayerTensors& tensors,
                              const DevicePlace& /*place*/) { return factory(layer, tensors); };
  registry().add(kind, {.make = make, .takes_bfloat16 = false});
}

GraphOp make_graph_op(const space::Layer& layer, StoredLayer& tensors, const DevicePlace& place) {
  const OpKind* kind = registry().find(layer.kind);
  if (kind == nullptr) throw InternalError("the trainer has no op for layers of kind `" + layer.kind + "`");
  auto op = kind->make(layer, tensors, place);
  const bool has_passes = dynamic_cast<FusedOp*>(op.get()) != nullptr;
  return {with_passes(std::move(op), tensors), kind->takes_bfloat16 && has_passes};
}

int outputs_kept(std::string_view kind) {
  const OpKind* known = registry().find(kind);
  return known == nullptr ? OpKind().outputs_kept : known->outputs_kept;
}

std::vector<std::string> layer_op_kinds() {
  return registry().names();
}

}  // namespace skyline::train
