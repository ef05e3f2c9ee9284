#include "comm/mpi/start_watch.hpp"

#include "skyline/core/exit_code.hpp"

#include <chrono>
#include <thread>

#include <gtest/gtest.h>
#include <unistd.h>

namespace skyline::comm {
namespace {

Launch third_rank(const std::string& group) {
  return {.rank = 3, .group = group + std::to_string(getpid())};
}

/// Waits for what never comes, as the main thread of a rank would.
void wait_for_ever(const StartOptions& options, const Launch& launch) {
  StartWatch watch(options, launch, "node07");
  watch.waits_for("MPI_Init");
  std::this_thread::sleep_for(std::chrono::seconds(60));
}

TEST(StartWatchDeathTest, SaysWhatIsWaitedForAndEndsTheProcessWithTheCode) {
  ::testing::GTEST_FLAG(death_test_style) = "threadsafe";
  EXPECT_EXIT(wait_for_ever({.timeout_s = 0.1}, third_rank("a")), ::testing::ExitedWithCode(kExitFault),
              "skyline: \\[rank 3 node07\\] after [0-9]+ s: MPI_Init\n"
              "(.*\n)*skyline: \\[rank 3 node07\\] gave up after [0-9]+ s \\(--start-timeout\\): MPI_Init. "
              "Nothing is lost");
}

TEST(StartWatch, EndsInSilenceWhenTheJobIsTogether) {
  ::testing::internal::CaptureStderr();
  {
    StartWatch watch({.timeout_s = std::nullopt}, third_rank("c"), "node07");
    watch.waits_for("MPI_Init");
    watch.knows("rank 8");
  }
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

}  // namespace
}  // namespace skyline::comm
