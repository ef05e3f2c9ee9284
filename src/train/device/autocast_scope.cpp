#include "train/device/autocast_scope.hpp"

#include <ATen/autocast_mode.h>  // all of ATen: in this file alone

namespace skyline::train {

AutocastScope::AutocastScope(at::DeviceType device, bool wanted)
    : device_(device),
      was_enabled_(at::autocast::is_autocast_enabled(device)),
      was_cached_(at::autocast::is_autocast_cache_enabled()) {
  if (wanted) {
    at::autocast::set_autocast_dtype(device, at::kBFloat16);
  }
  at::autocast::set_autocast_cache_enabled(false);
  at::autocast::set_autocast_enabled(device, wanted);
}

AutocastScope::~AutocastScope() {
  at::autocast::set_autocast_enabled(device_, was_enabled_);
  at::autocast::set_autocast_cache_enabled(was_cached_);
}

}  // namespace skyline::train
