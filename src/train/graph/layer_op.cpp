#include "skyline/train/layer_op.hpp"

#include "skyline/core/error.hpp"

#include "core/registry.hpp"
#include "train/graph/layer_graph.hpp"
#include "train/ops/autograd_op.hpp"
#include "train/ops/built_in_ops.hpp"

namespace skyline::train {
namespace {

using DeviceOpFactory = std::unique_ptr<LayerOp> (*)(const space::Layer&, LayerTensors&, DevicePlace&);

/// How the op of a kind is made.
struct OpFactories {
  LayerOpFactory host;
  DeviceOpFactory device = nullptr;  // nullptr: as on the CPU, for float32 alone
};

/// For ops that are the same everywhere, whatever the type of their inputs.
template <LayerOpFactory kMake>
constexpr OpFactories kAnywhere{kMake, [](const space::Layer& layer, LayerTensors& tensors, DevicePlace&) {
                                  return kMake(layer, tensors);
                                }};

using Factories = Registry<OpFactories>;

Factories& registry() {
  static Factories factories("layer op", [](Factories& built_in) {
    built_in.add("add", kAnywhere<make_add_op>);
    built_in.add("batch_norm", {make_batch_norm_op, make_device_batch_norm_op});
    built_in.add("concat", kAnywhere<make_concat_op>);
    built_in.add("conv2d", {make_conv2d_op, make_device_conv2d_op});
    built_in.add("dropout", {make_dropout_op, make_device_dropout_op});
    built_in.add("flatten", kAnywhere<make_flatten_op>);
    built_in.add("global_average_pool", kAnywhere<make_global_average_pool_op>);
    built_in.add("linear", {make_linear_op, make_device_linear_op});
    built_in.add("max_pool", kAnywhere<make_max_pool_op>);
    built_in.add("multiply", kAnywhere<make_multiply_op>);
    built_in.add("relu", kAnywhere<make_relu_op>);
  });
  return factories;
}

const OpFactories& factories_of(const space::Layer& layer) {
  const OpFactories* factories = registry().find(layer.kind);
  if (factories == nullptr) {
    throw InternalError("the trainer has no op for layers of kind `" + layer.kind + "`");
  }
  return *factories;
}

}  // namespace

void register_layer_op(std::string_view kind, LayerOpFactory factory) {
  registry().add(kind, {factory});
}

std::unique_ptr<LayerOp> make_layer_op(const space::Layer& layer, LayerTensors& tensors) {
  return factories_of(layer).host(layer, tensors);
}

GraphOp make_graph_op(const space::Layer& layer, StoredLayer& tensors, DevicePlace* place) {
  const OpFactories& make = factories_of(layer);
  if (place != nullptr && make.device != nullptr) {
    return {with_passes(make.device(layer, tensors, *place), tensors), true};
  }
  return {with_passes(make.host(layer, tensors), tensors), false};
}

at::Tensor for_products(const DevicePlace* place, const at::Tensor& tensor) {
  return place == nullptr ? tensor : place->for_products(tensor);
}

std::vector<std::string> layer_op_kinds() {
  return registry().names();
}

}  // namespace skyline::train
