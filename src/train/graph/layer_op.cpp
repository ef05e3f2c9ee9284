#include "skyline/train/layer_op.hpp"

#include "skyline/core/error.hpp"

#include "train/ops/built_in_ops.hpp"

#include <map>

namespace skyline::train {
namespace {

using Registry = std::map<std::string, LayerOpFactory, std::less<>>;

Registry& registry() {
  static Registry kinds = {
      {"conv2d", make_conv2d_op},   {"batch_norm", make_batch_norm_op},
      {"relu", make_relu_op},       {"max_pool", make_max_pool_op},
      {"flatten", make_flatten_op}, {"global_average_pool", make_global_average_pool_op},
      {"linear", make_linear_op},   {"dropout", make_dropout_op},
  };
  return kinds;
}

}  // namespace

bool LayerOp::absorb(const space::Layer& /*next*/) {
  return false;
}

void LayerOp::follow(LayerOp& /*producer*/) {}

const at::Tensor* LayerOp::defer_offset() {
  return nullptr;
}

bool LayerOp::fold_affine(const at::Tensor& /*scale*/, const at::Tensor& /*shift*/) {
  return false;
}

void register_layer_op(std::string_view kind, LayerOpFactory factory) {
  if (!registry().emplace(kind, factory).second) {
    throw InternalError("a layer op `" + std::string(kind) + "` is registered already");
  }
}

std::unique_ptr<LayerOp> make_layer_op(const space::Layer& layer, LayerTensors& tensors) {
  const auto found = registry().find(layer.kind);
  if (found == registry().end()) {
    throw InternalError("the trainer has no op for layers of kind `" + layer.kind + "`");
  }
  return found->second(layer, tensors);
}

std::vector<std::string> layer_op_kinds() {
  std::vector<std::string> kinds;
  for (const auto& [kind, factory] : registry()) {
    kinds.push_back(kind);
  }
  return kinds;
}

}  // namespace skyline::train
