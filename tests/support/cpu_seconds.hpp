#pragma once

#include "skyline/core/error.hpp"

#include <ctime>

namespace skyline::testing {

inline double cpu_seconds(clockid_t clock) {
  timespec time{};
  require(clock_gettime(clock, &time) == 0, "clock_gettime failed");
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

/// CPU seconds used so far by the calling thread, and by the whole process.
inline double thread_cpu_seconds() {
  return cpu_seconds(CLOCK_THREAD_CPUTIME_ID);
}
inline double process_cpu_seconds() {
  return cpu_seconds(CLOCK_PROCESS_CPUTIME_ID);
}

}  // namespace skyline::testing
