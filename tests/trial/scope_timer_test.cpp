#include "trial/scope_timer.hpp"

#include <thread>

#include <gtest/gtest.h>

namespace skyline::trial {
namespace {

using namespace std::chrono_literals;

TEST(ScopeTimer, LeavesOutWhatTheTrialWaitedMeanwhile) {
  TrialTiming timing;
  const auto began = std::chrono::steady_clock::now();
  {
    const ScopeTimer training(timing, &TrialTiming::train_s);
    std::this_thread::sleep_for(10ms);
    {
      const ScopeTimer saving(timing, &TrialTiming::wait_files_s);
      std::this_thread::sleep_for(10ms);
      const ScopeTimer gathering(timing, &TrialTiming::wait_ranks_s);
      std::this_thread::sleep_for(10ms);
    }
  }
  const double whole_s = seconds_since(began);
  for (const double part_s : {timing.train_s, timing.wait_files_s, timing.wait_ranks_s}) {
    EXPECT_GE(part_s, 0.0099);
  }
  EXPECT_LE(timing.total_s(), whole_s);
}

TEST(ScopeTimer, AddsUp) {
  TrialTiming timing{.validate_s = 1};
  const auto began = std::chrono::steady_clock::now();
  { const ScopeTimer timer(timing, &TrialTiming::validate_s); }
  EXPECT_GT(timing.validate_s, 1);
  EXPECT_LE(timing.validate_s, 1 + seconds_since(began));
}

}  // namespace
}  // namespace skyline::trial
