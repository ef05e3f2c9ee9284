#pragma once

#include "skyline/space/network.hpp"
#include "skyline/train/layer_op.hpp"

#include "train/kernels/values.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include <ATen/core/Tensor.h>

namespace skyline::train {

/// The movement of a convolution's or pooling's window over an activation.
struct SlidingWindow {
  std::array<std::int64_t, 2> kernel;
  std::array<std::int64_t, 2> stride;
  std::array<std::int64_t, 2> padding = {0, 0};  // padding on each side
  std::array<std::int64_t, 2> dilation = {1, 1};

  /// Returns whether it takes single pixels, and leaves some out.
  bool takes_single_pixels() const {
    constexpr std::array<std::int64_t, 2> kOne = {1, 1};
    return kernel == kOne && padding == std::array<std::int64_t, 2>{0, 0} && stride != kOne;
  }

  static SlidingWindow of(const space::Layer& layer) {
    const std::int64_t size = space::attribute_integer(layer, "kernel");
    const std::int64_t step = space::attribute_integer(layer, "stride");
    const std::int64_t border = space::attribute_integer_or(layer, "padding", 0);
    const std::int64_t distance = space::attribute_integer_or(layer, "dilation", 1);
    return {{size, size}, {step, step}, {border, border}, {distance, distance}};
  }
  /// Returns the window of a pooling. On a sequence it has height 1.
  static SlidingWindow of_pool(const space::Layer& layer) {
    SlidingWindow window = of(layer);
    if (layer.input().height == 1) {
      window.kernel[0] = window.stride[0] = 1;
      window.padding[0] = 0;
    }
    return window;
  }
};

/// Returns a tensor of a layer, or nullopt if the layer has none of that name.
inline std::optional<at::Tensor> tensor_if_any(LayerTensors& tensors, std::string_view name) {
  return tensors.has(name) ? std::optional<at::Tensor>(tensors.value(name)) : std::nullopt;
}

/// Returns the tensor itself if it is dense in channels_last order, else a copy that is.
inline at::Tensor channels_last(const at::Tensor& tensor) {
  return tensor.contiguous(at::MemoryFormat::ChannelsLast);
}

/// Reshapes to [samples, features], features in the order channel, row, column (PyTorch's flatten).
inline at::Tensor as_matrix(const at::Tensor& activation) {
  return activation.contiguous().view(
      {activation.size(0), activation.size(1) * activation.size(2) * activation.size(3)});
}

inline at::Tensor as_activation(const at::Tensor& matrix) {
  return matrix.view({matrix.size(0), matrix.size(1), 1, 1});
}

/// Returns a dense tensor's memory for our own kernels.
inline kernels::Values values_of(const at::Tensor& tensor) {
  return {const_cast<void*>(tensor.const_data_ptr()), tensor.scalar_type() == at::kBFloat16};
}

/// Returns whether nobody else reads the tensor's memory, so that it may be overwritten.
inline bool is_only_owner(const at::Tensor& tensor) {
  return tensor.use_count() == 1 && tensor.storage().use_count() == 1;
}

/// Returns the rows of a channels_last activation as a matrix [rows, channels]: samples * height * width.
inline std::size_t row_count(const at::Tensor& activation) {
  return static_cast<std::size_t>(activation.size(0) * activation.size(2) * activation.size(3));
}

}  // namespace skyline::train
