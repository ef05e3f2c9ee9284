#include "skyline/train/layer_op.hpp"

#include "skyline/core/error.hpp"

#include "core/registry.hpp"
#include "train/ops/built_in_ops.hpp"

namespace skyline::train {
namespace {

using Factories = Registry<LayerOpFactory>;

Factories& registry() {
  static Factories factories("layer op", [](Factories& built_in) {
    built_in.add("add", make_add_op);
    built_in.add("batch_norm", make_batch_norm_op);
    built_in.add("concat", make_concat_op);
    built_in.add("conv2d", make_conv2d_op);
    built_in.add("dropout", make_dropout_op);
    built_in.add("flatten", make_flatten_op);
    built_in.add("global_average_pool", make_global_average_pool_op);
    built_in.add("linear", make_linear_op);
    built_in.add("max_pool", make_max_pool_op);
    built_in.add("multiply", make_multiply_op);
    built_in.add("relu", make_relu_op);
  });
  return factories;
}

}  // namespace

void register_layer_op(std::string_view kind, LayerOpFactory factory) {
  registry().add(kind, factory);
}

std::unique_ptr<LayerOp> make_layer_op(const space::Layer& layer, LayerTensors& tensors) {
  const LayerOpFactory* factory = registry().find(layer.kind);
  if (factory == nullptr) {
    throw InternalError("the trainer has no op for layers of kind `" + layer.kind + "`");
  }
  return (*factory)(layer, tensors);
}

std::vector<std::string> layer_op_kinds() {
  return registry().names();
}

}  // namespace skyline::train
