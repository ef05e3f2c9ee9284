#pragma once

#include <ATen/autocast_mode.h>

namespace skyline::train {

/// Convolutions and products of the calling thread in bfloat16 for the time of a scope, if `wanted`. Nothing
/// is cached: recorded work would go on with the parameters of the step that was recorded.
class AutocastScope {
 public:
  AutocastScope(at::DeviceType device, bool wanted)
      : device_(device),
        was_enabled_(at::autocast::is_autocast_enabled(device)),
        was_cached_(at::autocast::is_autocast_cache_enabled()) {
    if (wanted) {
      at::autocast::set_autocast_dtype(device, at::kBFloat16);
    }
    at::autocast::set_autocast_cache_enabled(false);
    at::autocast::set_autocast_enabled(device, wanted);
  }
  ~AutocastScope() {
    at::autocast::set_autocast_enabled(device_, was_enabled_);
    at::autocast::set_autocast_cache_enabled(was_cached_);
  }
  AutocastScope(const AutocastScope&) = delete;
  AutocastScope& operator=(const AutocastScope&) = delete;

 private:
  at::DeviceType device_;
  bool was_enabled_;
  bool was_cached_;
};

}  // namespace skyline::train
