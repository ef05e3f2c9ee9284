#pragma once

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

namespace skyline {

/// A pause that doubles while nothing happens, so that a waiting thread never burns a core.
class Backoff {
 public:
  using Duration = std::chrono::microseconds;
  explicit Backoff(Duration first = std::chrono::microseconds(100),
                   Duration longest = std::chrono::milliseconds(10))
      : first_(first), longest_(longest), next_(first) {}

  /// Sleeps, longer at each call.
  void pause() { std::this_thread::sleep_for(next()); }
  /// Returns the length of the next pause, for a thread that has another way to wait.
  Duration next() { return std::exchange(next_, std::min(2 * next_, longest_)); }
  /// Makes the next pause short again; called after work was done.
  void reset() { next_ = first_; }

 private:
  Duration first_;
  Duration longest_;
  Duration next_;
};

/// Returns the seconds from `start` until now.
template <typename AnyClock, typename Duration>
double seconds_since(std::chrono::time_point<AnyClock, Duration> start) {
  return std::chrono::duration<double>(AnyClock::now() - start).count();
}

/// Seconds since 1970.
inline double unix_now_s() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace skyline
