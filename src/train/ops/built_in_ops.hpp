#pragma once

#include "skyline/space/network.hpp"
#include "skyline/train/layer_op.hpp"

#include "train/kernels/values.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include <ATen/core/Tensor.h>

namespace skyline::train {

struct DevicePlace;

/// How an op of a kind is made that is the same everywhere; how one is made for a place, which outlives it.
using MakeOp = std::unique_ptr<LayerOp>(const space::Layer& layer, LayerTensors& tensors);
using MakePlacedOp = std::unique_ptr<LayerOp>(const space::Layer& layer, LayerTensors& tensors,
                                              const DevicePlace& place);
MakeOp make_adaptive_average_pool_op, make_adaptive_max_pool_op, make_add_op, make_average_pool_op,
    make_concat_op, make_conv1d_op, make_elu_op, make_flatten_op, make_gelu_op, make_global_average_pool_op,
    make_global_max_pool_op, make_group_norm_op, make_hard_sigmoid_op, make_hard_swish_op, make_identity_op,
    make_instance_norm_op, make_layer_norm_op, make_leaky_relu_op, make_max_pool_op,
    make_multi_head_self_attention_op, make_multiply_op, make_patch_embedding_op, make_prelu_op, make_relu_op,
    make_relu6_op, make_separable_conv2d_op, make_sigmoid_op, make_silu_op, make_softmax_op,
    make_squeeze_excitation_op, make_tanh_op, make_zero_op;
MakePlacedOp make_batch_norm_op, make_aten_batch_norm_op, make_conv2d_op, make_dropout_op, make_linear_op,
    make_stochastic_depth_op;

/// How the square window of a convolution or pooling slides over an activation.
struct Window {
  std::array<std::int64_t, 2> kernel;
  std::array<std::int64_t, 2> stride;
  std::array<std::int64_t, 2> padding = {0, 0};  // on each side
  std::array<std::int64_t, 2> dilation = {1, 1};

  static Window of(const space::Layer& layer) {
    const std::int64_t size = space::attribute_integer(layer, "kernel");
    const std::int64_t step = space::attribute_integer(layer, "stride");
    const std::int64_t border = space::attribute_integer_or(layer, "padding", 0);
    const std::int64_t distance = space::attribute_integer_or(layer, "dilation", 1);
    return {{size, size}, {step, step}, {border, border}, {distance, distance}};
  }
  /// Over a sequence the window of a pooling has height 1.
  static Window of_pool(const space::Layer& layer) {
    Window window = of(layer);
    if (layer.input().height == 1) {
      window.kernel[0] = window.stride[0] = 1;
      window.padding[0] = 0;
    }
    return window;
  }
};

/// The tensor itself if it is dense in channels_last order, else a copy that is.
inline at::Tensor channels_last(const at::Tensor& tensor) {
  return tensor.contiguous(at::MemoryFormat::ChannelsLast);
}

/// A dense tensor's memory for our own kernels.
inline kernels::Values values_of(const at::Tensor& tensor) {
  return {const_cast<void*>(tensor.const_data_ptr()), tensor.scalar_type() == at::kBFloat16};
}

/// Whether nobody else reads the tensor's memory: it may be overwritten.
inline bool is_only_owner(const at::Tensor& tensor) {
  return tensor.use_count() == 1 && tensor.storage().use_count() == 1;
}

/// Rows of a channels_last activation as a matrix [rows, channels]: samples * height * width.
inline std::size_t row_count(const at::Tensor& activation) {
  return static_cast<std::size_t>(activation.size(0) * activation.size(2) * activation.size(3));
}
}  // namespace skyline::train
