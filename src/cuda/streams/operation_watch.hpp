#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

namespace skyline::cuda {

/// Keeps the operations of a group that a device may be executing, to name one that does not end.
class OperationWatch {
 public:
  using Clock = std::chrono::steady_clock;

  explicit OperationWatch(Clock::duration limit) : limit_(limit) {}

  /// Notes a queued operation, e.g. "all_reduce of 1200 values".
  void queue(std::string name, Clock::time_point now);
  /// Removes the oldest queued operation, which has ended.
  void end_oldest() { queued_.pop_front(); }
  /// Notes a recorded operation, which a replayed graph may execute at any time.
  void record(std::string name) { recorded_.push_back(std::move(name)); }

  /// Returns one line that names the operation that takes too long, if there is one.
  /// @param waiting_since  time at which the thread began to wait for the device, or nullopt if it does not
  ///                       wait
  std::optional<std::string> overdue(Clock::time_point now,
                                     std::optional<Clock::time_point> waiting_since) const;

 private:
  struct Queued {
    std::string name;
    std::uint64_t number = 0;
    Clock::time_point since;
  };
  std::string takes_too_long(const std::string& what) const;

  Clock::duration limit_;
  std::deque<Queued> queued_;
  std::vector<std::string> recorded_;
  std::uint64_t last_number_ = 0;
};

/// A function that every wait of this thread for a device calls, and that may throw there. Without it, work
/// that waits for a lost process would never end. It is made, used and destroyed on one thread.
class WaitWatch {
 public:
  using Clock = std::chrono::steady_clock;

  WaitWatch();
  virtual ~WaitWatch();
  WaitWatch(const WaitWatch&) = delete;
  WaitWatch& operator=(const WaitWatch&) = delete;

  /// Calls all watches of this thread.
  /// @param since  time at which the wait began
  static void call_all(Clock::time_point since);

 private:
  virtual void look(Clock::time_point waiting_since) = 0;
};

}  // namespace skyline::cuda
