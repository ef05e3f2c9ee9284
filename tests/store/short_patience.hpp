#pragma once

#include "store/publish/patience.hpp"

namespace skyline::testing {

/// While it lives, storage faults are borne for this long only.
class ShortPatience {
 public:
  explicit ShortPatience(double seconds) { store::set_patience(seconds); }
  ~ShortPatience() { store::set_patience(before_); }
  ShortPatience(const ShortPatience&) = delete;
  ShortPatience& operator=(const ShortPatience&) = delete;

 private:
  double before_ = store::patience_s();
};

}  // namespace skyline::testing
