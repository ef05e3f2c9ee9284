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
std::unique_ptr<LayerOp> make_add_op(const space::Layer& layer, LayerTensors& tensors);
std::unique_ptr<LayerOp> make_concat_op(const space::Layer& layer, LayerTensors& tensors);
std::unique_ptr<LayerOp> make_flatten_op(const space::Layer& layer, LayerTensors& tensors);
std::unique_ptr<LayerOp> make_global_average_pool_op(const space::Layer& layer, LayerTensors& tensors);
std::unique_ptr<LayerOp> make_max_pool_op(const space::Layer& layer, LayerTensors& tensors);
std::unique_ptr<LayerOp> make_multiply_op(const space::Layer& layer, LayerTensors& tensors);
std::unique_ptr<LayerOp> make_relu_op(const space::Layer& layer, LayerTensors& tensors);

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

/// How the square window of a convolution or pooling slides over an activation.
struct Window {
  std::array<std::int64_t, 2> kernel;
  std::array<std::int64_t, 2> stride;
  std::array<std::int64_t, 2> padding = {0, 0};  // on each side

  static Window of(const space::Layer& layer) {
    const std::int64_t size = space::attribute_integer(layer, "kernel");
    const std::int64_t step = space::attribute_integer(layer, "stride");
    const std::int64_t border =
        layer.attributes.contains("padding") ? space::attribute_integer(layer, "padding") : 0;
    return {{size, size}, {step, step}, {border, border}};
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
