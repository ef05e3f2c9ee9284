#include "core/backoff.hpp"

#include "support/cpu_seconds.hpp"

#include <gtest/gtest.h>

namespace skyline {
namespace {

double seconds_of(int pauses, Backoff& backoff) {
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < pauses; ++i) backoff.pause();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

TEST(Backoff, GrowsToTenMillisecondsAndStartsShortAgainAfterWork) {
  Backoff backoff;
  EXPECT_GE(seconds_of(7, backoff), 0.0127);  // 0.1 + 0.2 + ... + 6.4 ms
  EXPECT_GE(seconds_of(2, backoff), 0.020);
  bool short_again = false;
  for (int look = 0; look < 1000 && !short_again; ++look) {  // this thread may have to wait for its core
    backoff.reset();
    short_again = seconds_of(1, backoff) < 0.010;
  }
  EXPECT_TRUE(short_again);
}

TEST(Backoff, UsesNoCoreWhileItWaits) {
  double used_s = 1;
  for (int look = 0; look < 20 && used_s >= 0.01; ++look) {  // a virtual machine may count what others use
    Backoff backoff;
    const double before = testing::thread_cpu_seconds();
    seconds_of(15, backoff);
    used_s = testing::thread_cpu_seconds() - before;
  }
  EXPECT_LT(used_s, 0.01);
}

}  // namespace
}  // namespace skyline
