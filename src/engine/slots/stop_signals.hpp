#pragma once

#include <array>
#include <csignal>

namespace skyline::engine {

/// While it lives, SIGUSR1, SIGTERM and SIGINT ask the run to stop instead of ending the process. A second
/// SIGINT ends the process at once, with exit code 130 and without any clean-up: what was published is whole.
/// One object at a time, made by the main thread before others start.
class StopSignals {
 public:
  /// Forgets what an earlier object has seen. @throws InternalError if the system refuses a handler
  StopSignals();
  /// Gives the earlier handlers back.
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  /// Whether one of the signals came; any thread.
  bool stop_requested() const { return signal() != 0; }
  /// The signal that came, the last one of several; 0: none. Any thread.
  int signal() const;

 private:
  static constexpr std::array kSignals{SIGUSR1, SIGTERM, SIGINT};
  std::array<struct sigaction, kSignals.size()> earlier_{};
};

}  // namespace skyline::engine
