#pragma once

#include <cstddef>

#include <ATen/core/Tensor.h>

namespace skyline::train {

/// The tensor itself if it is dense in channels_last order, else a copy that is.
inline at::Tensor channels_last(const at::Tensor& tensor) {
  return tensor.contiguous(at::MemoryFormat::ChannelsLast);
}

/// Whether nobody else reads the tensor's memory: it may be overwritten.
inline bool is_only_owner(const at::Tensor& tensor) {
  return tensor.use_count() == 1 && tensor.storage().use_count() == 1;
}

/// Rows of a channels_last activation as a matrix [rows, channels]: samples * height * width.
inline std::size_t row_count(const at::Tensor& activation) {
  return static_cast<std::size_t>(activation.size(0) * activation.size(2) * activation.size(3));
}

inline std::size_t channel_count(const at::Tensor& activation) {
  return static_cast<std::size_t>(activation.size(1));
}

}  // namespace skyline::train
