#pragma once

#include "skyline/train/layer_op.hpp"

#include "train/kernels/values.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include <ATen/core/Tensor.h>

namespace skyline::train {

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
