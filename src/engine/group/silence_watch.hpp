#pragma once

#include <algorithm>
#include <chrono>

namespace skyline::engine {

/// Measures how long nothing has happened, by repeated looks. A look adds at most a second, so that the time
/// in which this process or its machine was suspended does not count.
class SilenceWatch {
 public:
  using Clock = std::chrono::steady_clock;

  explicit SilenceWatch(Clock::time_point now) : last_look_(now) {}

  /// Notes that something has happened.
  void hear(Clock::time_point now) {
    last_look_ = now;
    silence_ = {};
  }
  /// Returns the length of the silence.
  Clock::duration look(Clock::time_point now) {
    silence_ += std::min<Clock::duration>(now - last_look_, kMostOfALook);
    last_look_ = now;
    return silence_;
  }

 private:
  static constexpr std::chrono::seconds kMostOfALook{1};
  Clock::time_point last_look_;
  Clock::duration silence_{};
};

}  // namespace skyline::engine
