#include "train/loading/layer_ops.hpp"

namespace skyline::train {

OpList& layer_ops() {
  static OpList ops("layer op", [](OpList& /*none*/) {});
  return ops;
}

void register_layer_op(std::string_view kind, LayerOpFactory factory) {
  const auto make = [factory](const space::Layer& layer, LayerTensors& tensors,
                              const DevicePlace& /*place*/) { return factory(layer, tensors); };
  layer_ops().add(kind, {.make = make, .takes_bfloat16 = false});
}

}  // namespace skyline::train
