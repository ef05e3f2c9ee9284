#pragma once

#include "skyline/space/network.hpp"

#include "train/graph/parameter_store.hpp"
#include "train/group/device_exchange.hpp"

#include <cstdint>

#include <ATen/core/Tensor.h>

namespace skyline::train {

/// Batch normalization on a device by the statistics of all members' parts of the batch: two operations of
/// the group per step, one forward and one backward, also on a member without samples. Statistics are
/// float32. Autograd does not see it.
class SynchronizedNorm {
 public:
  /// `tensors`, on their device, and the reducer outlive the object.
  SynchronizedNorm(const space::Layer& layer, StoredLayer& tensors, const DeviceMembership& membership);

  /// @param input  [samples, channels, height, width]; undefined: the member has no samples
  /// @param batch  samples of all members
  /// @return       of the input's type; undefined if the input is
  at::Tensor forward(const at::Tensor& input, std::int64_t batch);
  /// Sets the gradients of weight and bias for this member's samples.
  /// @param gradient  by the output; undefined: zeros
  /// @return          by the input; undefined if `gradient` is
  at::Tensor backward(const at::Tensor& gradient, bool wants_input_gradient);

 private:
  /// Sets mean_ and deviations over all members' samples.
  void find_statistics(const at::Tensor& input);
  void update_running_statistics();

  StoredLayer& tensors_;
  DeviceReducer& reducer_;
  std::int64_t members_;
  std::int64_t channels_;
  std::int64_t pixels_;
  at::Tensor running_mean_;  // the layer's, without autograd's version counter
  at::Tensor running_variance_;
  double momentum_;
  double epsilon_;
  at::Tensor moments_;        // float32 [line]: mean, sum of squared deviations, count; the rest is padding
  at::Tensor all_moments_;    // [members x line]
  at::Tensor backward_sums_;  // [2 x channels]: of the gradient, and of its products with the deviations
  double rows_ = 0;           // of all members
  // Kept from forward to backward:
  at::Tensor input_;
  at::Tensor mean_;
  at::Tensor variance_;
};

}  // namespace skyline::train
