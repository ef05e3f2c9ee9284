#include "engine/slots/crash_signals.hpp"

#include "skyline/core/error.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <mutex>

#include <unistd.h>

namespace skyline::engine {
namespace {

std::atomic<store::RunningTrials*> crashes_go_to = nullptr;
std::array<struct sigaction, CrashSignals::kSignals.size()> handlers_before;

void restore_handler(int signal) {
  for (std::size_t i = 0; i < handlers_before.size(); ++i) {
    if (CrashSignals::kSignals[i] == signal) ::sigaction(signal, &handlers_before[i], nullptr);
  }
}

/// Calls only functions that are async-signal-safe.
extern "C" void note_crash(int signal, siginfo_t* info, void* /*context*/) {
  const bool aborts = signal == SIGABRT && info->si_code == SI_TKILL && info->si_pid == ::getpid();
  store::RunningTrials* const running = crashes_go_to;
  if (running != nullptr && (info->si_code > 0 || aborts)) running->crashed(signal);
  restore_handler(signal);
  if (info->si_code <= 0) ::raise(signal);  // a fault recurs by itself: its instruction runs again
}

/// Ignores crashes from now on: exit() while slots train may crash, and no trial is to blame.
void forget_crashes() {
  crashes_go_to = nullptr;
}

}  // namespace

SignalStack::SignalStack() {
  constexpr std::size_t kLeastBytes = std::size_t{64} << 10;
  stack_t before{};
  if (::sigaltstack(nullptr, &before) != 0 || (before.ss_flags & SS_DISABLE) == 0) return;
  memory_.resize(std::max(kLeastBytes, static_cast<std::size_t>(::sysconf(_SC_SIGSTKSZ))));
  stack_t own{};
  own.ss_sp = memory_.data();
  own.ss_size = memory_.size();
  ::sigaltstack(&own, nullptr);
}

SignalStack::~SignalStack() {
  stack_t none{};
  none.ss_flags = SS_DISABLE;
  if (!memory_.empty()) ::sigaltstack(&none, nullptr);
}

CrashSignals::CrashSignals(store::RunningTrials& running) {
  static std::once_flag once;
  std::call_once(once, [] { std::atexit(forget_crashes); });
  crashes_go_to = &running;
  struct sigaction action {};
  action.sa_sigaction = note_crash;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    if (::sigaction(kSignals[i], &action, &handlers_before[i]) != 0) {
      throw InternalError("cannot handle a signal: " + system_error_text(errno));
    }
  }
}

CrashSignals::~CrashSignals() {
  crashes_go_to = nullptr;
  for (const int signal : kSignals) restore_handler(signal);
}

}  // namespace skyline::engine
