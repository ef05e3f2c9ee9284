#pragma once

#include "store/run_folder/running_trials.hpp"

#include <array>
#include <csignal>
#include <cstddef>
#include <vector>

namespace skyline::engine {

/// While it lives, handlers of signals run on their own stack in this thread, because the thread's stack may
/// be full at a crash. Does nothing if the thread has one. Made and destroyed by the thread.
class SignalStack {
 public:
  SignalStack();
  ~SignalStack();
  SignalStack(const SignalStack&) = delete;
  SignalStack& operator=(const SignalStack&) = delete;

 private:
  std::vector<std::byte> memory_;  // empty if the thread had one
};

/// While it lives, a crash of this process is noted in the rank's running trials: a SIGSEGV, SIGILL or SIGFPE
/// that the processor raised, or an abort() of our own. A signal that somebody sent does not count, and
/// neither does SIGBUS, which means that memory has gone (a cut file, a full /dev/shm). Afterwards the signal
/// has its usual effect. One object at a time, made by the main thread. A full stack is only noted in threads
/// with a SignalStack.
class CrashSignals {
 public:
  /// @param running  must outlive the object
  explicit CrashSignals(store::RunningTrials& running);
  /// Restores the earlier handlers.
  ~CrashSignals();
  CrashSignals(const CrashSignals&) = delete;
  CrashSignals& operator=(const CrashSignals&) = delete;

  static constexpr std::array kSignals{SIGSEGV, SIGILL, SIGFPE, SIGABRT};
};

}  // namespace skyline::engine
