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

// The same everywhere.
std::unique_ptr<LayerOp> make_adaptive_average_pool_op(const space::Layer& layer, LayerTensors& tensors);
std::unique_ptr<LayerOp> make_adaptive_max_pool_op(const space::Layer& layer, LayerTensors& tensors);
std::unique_ptr<LayerOp> make_add_op(const space::Layer& layer, LayerTensors& tensors);
std::unique_ptr<LayerOp> make_average_pool_op(const space::Layer& layer, LayerTensors& tensors);
std::unique_ptr<LayerOp> make_concat_op(const space::Layer& layer, LayerTensors& tensors);
std::unique_ptr<LayerOp> make_conv1d_op(const space::Layer& layer, LayerTensors& tensors);
std::unique_ptr<LayerOp> make_elu_op(const space::Layer& layer, LayerTensors& tensors);
std::unique_ptr<LayerOp> make_flatten_op(const space::Layer& layer, LayerTensors& tensors);
std::unique_ptr<LayerOp> make_gelu_op(const space::Layer& layer, LayerTensors& tensors);
std::unique_ptr<LayerOp> make_global_average_pool_op(const space::Layer& layer, LayerTensors& tensors);
std::unique_ptr<LayerOp> make_global_max_pool_op(const space::Layer& layer, LayerTensors& tensors);
std::unique_ptr<LayerOp> make_group_norm_op(const space::Layer& layer, LayerTensors& tensors);
std::unique_ptr<LayerOp> make_hard_sigmoid_op(const space::Layer& layer, LayerTensors& tensors);
std::unique_ptr<LayerOp> make_hard_swish_op(const space::Layer& layer, LayerTensors& tensors);
std::unique_ptr<LayerOp> make_identity_op(const space::Layer& layer, LayerTensors& tensors);
std::unique_ptr<LayerOp> make_instance_norm_op(const space::Layer& layer, LayerTensors& tensors);
std::unique_ptr<LayerOp> make_layer_norm_op(const space::Layer& layer, LayerTensors& tensors);
std::unique_ptr<LayerOp> make_leaky_relu_op(const space::Layer& layer, LayerTensors& tensors);
std::unique_ptr<LayerOp> make_max_pool_op(const space::Layer& layer, LayerTensors& tensors);
std::unique_ptr<LayerOp> make_multi_head_self_attention_op(const space::Layer& layer, LayerTensors& tensors);
std::unique_ptr<LayerOp> make_multiply_op(const space::Layer& layer, LayerTensors& tensors);
std::unique_ptr<LayerOp> make_patch_embedding_op(const space::Layer& layer, LayerTensors& tensors);
std::unique_ptr<LayerOp> make_prelu_op(const space::Layer& layer, LayerTensors& tensors);
std::unique_ptr<LayerOp> make_relu_op(const space::Layer& layer, LayerTensors& tensors);
std::unique_ptr<LayerOp> make_relu6_op(const space::Layer& layer, LayerTensors& tensors);
std::unique_ptr<LayerOp> make_separable_conv2d_op(const space::Layer& layer, LayerTensors& tensors);
std::unique_ptr<LayerOp> make_sigmoid_op(const space::Layer& layer, LayerTensors& tensors);
std::unique_ptr<LayerOp> make_silu_op(const space::Layer& layer, LayerTensors& tensors);
std::unique_ptr<LayerOp> make_softmax_op(const space::Layer& layer, LayerTensors& tensors);
std::unique_ptr<LayerOp> make_squeeze_excitation_op(const space::Layer& layer, LayerTensors& tensors);
std::unique_ptr<LayerOp> make_tanh_op(const space::Layer& layer, LayerTensors& tensors);
std::unique_ptr<LayerOp> make_zero_op(const space::Layer& layer, LayerTensors& tensors);

// For a place, which outlives the op.
using PlacedOpFactory = std::unique_ptr<LayerOp> (*)(const space::Layer& layer, LayerTensors& tensors,
                                                     const DevicePlace& place);
std::unique_ptr<LayerOp> make_batch_norm_op(const space::Layer& layer, LayerTensors& tensors,
                                            const DevicePlace& place);
std::unique_ptr<LayerOp> make_aten_batch_norm_op(const space::Layer& layer, LayerTensors& tensors,
                                                 const DevicePlace& place);
std::unique_ptr<LayerOp> make_conv2d_op(const space::Layer& layer, LayerTensors& tensors,
                                        const DevicePlace& place);
std::unique_ptr<LayerOp> make_dropout_op(const space::Layer& layer, LayerTensors& tensors,
                                         const DevicePlace& place);
std::unique_ptr<LayerOp> make_linear_op(const space::Layer& layer, LayerTensors& tensors,
                                        const DevicePlace& place);
std::unique_ptr<LayerOp> make_stochastic_depth_op(const space::Layer& layer, LayerTensors& tensors,
                                                  const DevicePlace& place);

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
