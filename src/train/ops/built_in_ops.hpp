#pragma once

#include "skyline/train/layer_op.hpp"

#include <memory>

namespace skyline::train {

std::unique_ptr<LayerOp> make_conv2d_op(const space::Layer& layer, LayerTensors& tensors);
std::unique_ptr<LayerOp> make_batch_norm_op(const space::Layer& layer, LayerTensors& tensors);
std::unique_ptr<LayerOp> make_dropout_op(const space::Layer& layer, LayerTensors& tensors);
std::unique_ptr<LayerOp> make_relu_op(const space::Layer& layer, LayerTensors& tensors);
std::unique_ptr<LayerOp> make_max_pool_op(const space::Layer& layer, LayerTensors& tensors);
std::unique_ptr<LayerOp> make_global_average_pool_op(const space::Layer& layer, LayerTensors& tensors);
std::unique_ptr<LayerOp> make_flatten_op(const space::Layer& layer, LayerTensors& tensors);
std::unique_ptr<LayerOp> make_linear_op(const space::Layer& layer, LayerTensors& tensors);

}  // namespace skyline::train
