#pragma once

#include <array>
#include <csignal>

namespace skyline::engine {

/// While it lives, SIGUSR1, SIGTERM and SIGINT ask the run to stop instead of ending the process. A second
/// SIGINT ends the process at once, with exit code 130 and without any clean-up: published files are whole.
/// One object at a time, made by the main thread before others start.
class StopSignals {
 public:
  /// Forgets signals of an earlier object. @throws InternalError if the system refuses a handler
  StopSignals();
  /// Restores the earlier handlers.
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  /// Whether a signal came; any thread.
  bool stop_requested() const { return signal() != 0; }
  /// The last signal that came; 0: none. Any thread.
  int signal() const;

 private:
  static constexpr std::array kSignals{SIGUSR1, SIGTERM, SIGINT};
  std::array<struct sigaction, kSignals.size()> earlier_{};
};

}  // namespace skyline::engine
