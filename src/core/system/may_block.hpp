#pragma once

#include "skyline/core/error.hpp"

#include <string>

namespace skyline {

/// While an object of this class lives, its thread must not wait for a file, a terminal or another thread.
/// The thread that serves MPI has one, because all ranks wait for it.
class NeverBlocks {
 public:
  NeverBlocks() { ++count(); }
  ~NeverBlocks() { --count(); }
  NeverBlocks(const NeverBlocks&) = delete;
  NeverBlocks& operator=(const NeverBlocks&) = delete;

  static bool here() { return count() > 0; }

 private:
  static int& count() {
    thread_local int alive = 0;
    return alive;
  }
};

/// Call this before an operation that may wait. @throws InternalError on a thread that must not wait
inline void may_block(const char* task) {
  if (NeverBlocks::here()) throw InternalError(std::string("a thread that must never wait is to ") + task);
}

}  // namespace skyline
