#pragma once

#include <algorithm>
#include <chrono>

namespace skyline::engine {

/// How long nothing has happened, as one who looks again and again has seen it. A look adds a second at most:
/// while this process itself was suspended, or its machine, nobody was silent.
class SilenceWatch {
 public:
  using Clock = std::chrono::steady_clock;

  explicit SilenceWatch(Clock::time_point now) : last_look_(now) {}

  /// Something has happened.
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
