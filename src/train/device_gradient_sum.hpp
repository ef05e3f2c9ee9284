#pragma once

#include "skyline/train/accelerator.hpp"

#include "train/parameter_store.hpp"

#include <vector>

#include <ATen/core/Tensor.h>

namespace skyline::train {

/// Sums gradients over the members of a group on their devices, all in one operation, and makes the buffers
/// (running statistics) the members' mean, weighted by samples: so all members have the same parameters, to
/// the bit, after every step. May be recorded if the reducer's operations may be.
class DeviceGradientSum {
 public:
  /// `parameters`, on their device, and `reducer` outlive it.
  DeviceGradientSum(DeviceReducer& reducer, ParameterStore& parameters);

  /// @param gradients  of all trainable parameters in the order of the store, [elements] each, of the mean
  ///                   loss of the members' whole batch; undefined ones count as zeros, as one member may
  ///                   have no samples. Become views of the sums, until the next call.
  /// @param share      of the batch's samples that the member has
  void sum(std::vector<at::Tensor>& gradients, double share);

 private:
  DeviceReducer& reducer_;
  at::Tensor sums_;                        // [size of the parameters' block], zeros in the padding
  std::vector<at::Tensor> gradient_sums_;  // views
  std::vector<at::Tensor> buffers_;
  std::vector<at::Tensor> buffer_sums_;  // views
};

}  // namespace skyline::train
