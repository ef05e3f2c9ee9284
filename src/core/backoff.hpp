#pragma once

#include <chrono>

namespace skyline {

/// A pause that grows while nothing happens, 0.1 to 10 ms, so that a waiting thread never burns a core.
class Backoff {
 public:
  /// Sleeps, longer each time.
  void pause();
  /// After work was done: the next pause is short again.
  void reset();

 private:
  static constexpr std::chrono::microseconds kShortest{100};
  static constexpr std::chrono::microseconds kLongest{10'000};
  std::chrono::microseconds next_ = kShortest;
};

}  // namespace skyline
