#include "engine/group/group_exchange.hpp"

#include <chrono>

#include <gtest/gtest.h>

namespace skyline::engine {
namespace {

using namespace std::chrono_literals;

TEST(SilenceWatch, AddsUpWhatPassesBetweenLooks) {
  const SilenceWatch::Clock::time_point start;
  SilenceWatch watch(start);
  EXPECT_EQ(watch.look(start + 300ms), 300ms);
  EXPECT_EQ(watch.look(start + 1200ms), 1200ms);
}

TEST(SilenceWatch, BeginsAnewWhenSomethingHappens) {
  const SilenceWatch::Clock::time_point start;
  SilenceWatch watch(start);
  watch.look(start + 900ms);
  watch.hear(start + 2s);
  EXPECT_EQ(watch.look(start + 2s + 100ms), 100ms);
}

TEST(SilenceWatch, TakesATimeWithoutLooksForASuspensionOfThisProcess) {
  const SilenceWatch::Clock::time_point start;
  SilenceWatch watch(start);
  watch.look(start + 500ms);
  EXPECT_EQ(watch.look(start + 305s), 1500ms);
}

}  // namespace
}  // namespace skyline::engine
