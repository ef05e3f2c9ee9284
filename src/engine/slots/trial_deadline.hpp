#pragma once

#include "core/clock.hpp"

#include <atomic>
#include <limits>

namespace skyline::engine {

/// When the trial of a slot has taken too long. Set by the slot's thread; any thread may ask.
class TrialDeadline {
 public:
  /// The trial begins to train, and may take so long. Later calls for the same trial change nothing.
  void begin(double most_s) {
    if (at_s_ == kNever) at_s_ = SteadyClock().now_s() + most_s;
  }
  /// @param grace_s  whether it was over so long ago
  bool is_over(double grace_s = 0) const { return SteadyClock().now_s() > at_s_ + grace_s; }
  /// The trial has ended.
  void clear() { at_s_ = kNever; }

 private:
  static constexpr double kNever = std::numeric_limits<double>::infinity();
  std::atomic<double> at_s_ = kNever;
};

}  // namespace skyline::engine
