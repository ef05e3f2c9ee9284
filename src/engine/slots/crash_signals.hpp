#pragma once

#include "store/run_folder/running_trials.hpp"

#include <array>
#include <csignal>
#include <cstddef>
#include <vector>

namespace skyline::engine {

/// While it lives, handlers of signals run on a stack of their own in this thread, unless they do already: a
/// crash may be that the thread's own stack is full. Made and destroyed by the thread.
class SignalStack {
 public:
  SignalStack();
  ~SignalStack();
  SignalStack(const SignalStack&) = delete;
  SignalStack& operator=(const SignalStack&) = delete;

 private:
  std::vector<std::byte> memory_;  // empty: it had one
};

/// While it lives, a crash of this process is noted in the rank's running trials: a SIGSEGV, SIGILL or SIGFPE
/// that the processor raised, or an abort() of our own. A signal that somebody sent is none, nor is SIGBUS,
/// which says that memory has gone (a cut file, a full /dev/shm). What would have happened at the signal
/// happens then. One object at a time, made by the main thread. A full stack is noted in threads with a
/// SignalStack.
class CrashSignals {
 public:
  /// @param running  outlives the object
  explicit CrashSignals(store::RunningTrials& running);
  /// Restores the earlier handlers.
  ~CrashSignals();
  CrashSignals(const CrashSignals&) = delete;
  CrashSignals& operator=(const CrashSignals&) = delete;

  static constexpr std::array kSignals{SIGSEGV, SIGILL, SIGFPE, SIGABRT};
};

}  // namespace skyline::engine
