#pragma once

#include <ATen/core/Tensor.h>

namespace skyline::train {

/// Convolutions and products of the calling thread in bfloat16 for the time of a scope, if `wanted`. Nothing
/// is cached: recorded work would go on with the parameters of the step that was recorded.
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
