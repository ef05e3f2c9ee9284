#include "engine/group/group_exchange.hpp"

#include <chrono>

#include <gtest/gtest.h>

namespace skyline::engine {
namespace {

using namespace std::chrono_literals;

TEST(SilenceTimer, AddsUpWhatPassesBetweenLooks) {
  const SilenceTimer::Clock::time_point start;
  SilenceTimer timer(start);
  EXPECT_EQ(timer.update(start + 300ms), 300ms);
  EXPECT_EQ(timer.update(start + 1200ms), 1200ms);
}

TEST(SilenceTimer, BeginsAnewWhenSomethingHappens) {
  const SilenceTimer::Clock::time_point start;
  SilenceTimer timer(start);
  timer.update(start + 900ms);
  timer.hear(start + 2s);
  EXPECT_EQ(timer.update(start + 2s + 100ms), 100ms);
}

TEST(SilenceTimer, TakesATimeWithoutLooksForASuspensionOfThisProcess) {
  const SilenceTimer::Clock::time_point start;
  SilenceTimer timer(start);
  timer.update(start + 500ms);
  EXPECT_EQ(timer.update(start + 305s), 1500ms);
}

}  // namespace
}  // namespace skyline::engine
