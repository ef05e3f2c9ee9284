#include "engine/slots/stop_signals.hpp"

#include "skyline/core/error.hpp"
#include "skyline/core/exit_code.hpp"

#include <atomic>
#include <cerrno>
#include <csignal>

#include <unistd.h>

namespace skyline::engine {
namespace {

std::atomic<int> seen_signal{0};
static_assert(std::atomic<int>::is_always_lock_free, "a signal handler must not lock");

/// Calls nothing that is not async-signal-safe.
extern "C" void note_signal(int signal) {
  if (seen_signal.load() != SIGINT) {
    seen_signal.store(signal);
  } else if (signal == SIGINT) {
    _exit(exit_code_of_signal(SIGINT));
  }
}

}  // namespace

StopSignals::StopSignals() {
  seen_signal.store(0);
  struct sigaction action {};
  action.sa_handler = note_signal;
  action.sa_flags = SA_RESTART;  // system calls of all threads go on
  sigemptyset(&action.sa_mask);
  for (const int signal : kSignals) sigaddset(&action.sa_mask, signal);
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    if (sigaction(kSignals[i], &action, &earlier_[i]) != 0) {
      throw InternalError("cannot handle a signal: " + system_error_text(errno));
    }
  }
}

StopSignals::~StopSignals() {
  for (std::size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &earlier_[i], nullptr);
}

int StopSignals::signal() const {
  return seen_signal.load();
}

}  // namespace skyline::engine
