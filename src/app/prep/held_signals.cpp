#include "app/prep/held_signals.hpp"

#include <algorithm>
#include <array>

namespace skyline::app {
namespace {

constexpr std::array kEndingSignals{SIGINT, SIGTERM, SIGHUP};

}  // namespace

HeldSignals::HeldSignals() {
  ::sigemptyset(&held_);
  for (const int signal : kEndingSignals) {
    struct sigaction action {};
    ::sigaction(signal, nullptr, &action);
    if (action.sa_handler != SIG_IGN) ::sigaddset(&held_, signal);
  }
  ::pthread_sigmask(SIG_BLOCK, &held_, &earlier_);
}

HeldSignals::~HeldSignals() {
  ::pthread_sigmask(SIG_SETMASK, &earlier_, nullptr);
}

bool HeldSignals::pending() const {
  sigset_t waiting;
  ::sigpending(&waiting);
  return std::ranges::any_of(kEndingSignals, [&](int signal) {
    return ::sigismember(&held_, signal) == 1 && ::sigismember(&waiting, signal) == 1;
  });
}

}  // namespace skyline::app
