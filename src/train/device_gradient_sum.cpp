#include "train/device_gradient_sum.hpp"

#include <ATen/ops/_foreach_copy.h>
#include <ATen/ops/_foreach_mul.h>
#include <ATen/ops/zeros_like.h>

namespace skyline::train {

DeviceGradientSum::DeviceGradientSum(DeviceReducer& reducer, ParameterStore& parameters)
    : reducer_(reducer), sums_(at::zeros_like(parameters.block())) {
  for (StoredLayer& layer : parameters.layers()) {
    for (StoredTensor& tensor : layer.tensors()) {
      const at::Tensor place = sums_.narrow(0, tensor.value.storage_offset(), tensor.value.numel());
      if (tensor.trainable) {
        gradient_sums_.push_back(place);
      } else {
        buffers_.push_back(parameters.block().narrow(0, tensor.value.storage_offset(), tensor.value.numel()));
        buffer_sums_.push_back(place);
      }
    }
  }
}

void DeviceGradientSum::sum(std::vector<at::Tensor>& gradients, double share) {
  std::vector<at::Tensor> targets = buffer_sums_;
  std::vector<at::Tensor> sources = buffers_.empty() ? buffers_ : at::_foreach_mul(buffers_, share);
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    if (gradients[i].defined()) {
      targets.push_back(gradient_sums_[i]);
      sources.push_back(gradients[i]);
    } else {
      gradient_sums_[i].zero_();
    }
    gradients[i] = gradient_sums_[i];
  }
  if (!targets.empty()) {
    at::_foreach_copy_(targets, sources);
  }
  reducer_.all_reduce(sums_);
  if (!buffers_.empty()) {
    at::_foreach_copy_(buffers_, buffer_sums_);
  }
}

}  // namespace skyline::train
