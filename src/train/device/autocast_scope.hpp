#pragma once

#include <ATen/core/Tensor.h>

namespace skyline::train {

/// Makes the calling thread compute convolutions and products in bfloat16 during a scope, if `wanted`.
/// Nothing is cached: recorded work would keep using the parameters of the recorded step.
class AutocastScope {
 public:
  AutocastScope(at::DeviceType device, bool wanted);
  ~AutocastScope();
  AutocastScope(const AutocastScope&) = delete;
  AutocastScope& operator=(const AutocastScope&) = delete;

 private:
  at::DeviceType device_;
  bool was_enabled_;
  bool was_cached_;
};

}  // namespace skyline::train
