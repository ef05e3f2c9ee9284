#include "engine/dispatch/failure_detector.hpp"

#include "core/system/process.hpp"

#include <csignal>
#include <set>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace skyline::engine {
namespace {

bool nobody(std::size_t) {
  return false;
}

/// Looks once a second from `begin_s` to `end_s`; the ranks that are found lost, by a silence of 10 s or
/// otherwise.
std::vector<std::size_t> lost_between(FailureDetector& watch, int begin_s, int end_s) {
  std::vector<std::size_t> lost;
  for (int now_s = begin_s; now_s <= end_s; ++now_s) {
    for (const FailureDetector::Loss& loss : watch.losses(now_s, 10)) lost.push_back(loss.rank);
  }
  return lost;
}

/// Processes of other hosts, which nobody here can look at.
std::vector<RankProcess> far_away(std::size_t ranks) {
  return std::vector<RankProcess>(ranks, {.place = 1, .start_ticks = 2, .number = 3});
}

/// A child of this process that waits for a signal.
RankProcess waiting_child() {
  const pid_t child = fork();
  if (child == 0) {
    pause();
    _exit(0);
  }
  RankProcess process = RankProcess::own();
  process.number = child;
  process.start_ticks = process_start_ticks(child);
  return process;
}

TEST(FailureDetector, FindsRanksThatAreSilentTooLongOnce) {
  FailureDetector watch(far_away(3), 0, nobody);
  EXPECT_THAT(lost_between(watch, 0, 9), ::testing::IsEmpty());
  watch.heard(1, 9);
  watch.leave(2);
  EXPECT_THAT(lost_between(watch, 10, 18), ::testing::ElementsAre(0));
  EXPECT_THAT(lost_between(watch, 19, 40), ::testing::ElementsAre(1));
}

TEST(FailureDetector, BlamesNobodyForAPauseOfItsOwn) {
  FailureDetector watch(far_away(1), 0, nobody);
  EXPECT_THAT(lost_between(watch, 0, 5), ::testing::IsEmpty());
  EXPECT_THAT(lost_between(watch, 100, 110), ::testing::IsEmpty());
  EXPECT_THAT(lost_between(watch, 111, 111), ::testing::ElementsAre(0));
}

TEST(FailureDetector, FindsAProcessThatHasEndedUnlessItSaidGoodbye) {
  const std::vector<RankProcess> children{waiting_child(), waiting_child()};
  FailureDetector watch(children, 0, nobody);
  EXPECT_THAT(lost_between(watch, 0, 3), ::testing::IsEmpty());
  for (const RankProcess& child : children) {
    EXPECT_TRUE(child.kill(RankProcess::own()));
    waitpid(child.number, nullptr, 0);
    EXPECT_FALSE(child.kill(RankProcess::own()));
  }
  EXPECT_THAT(lost_between(watch, 4, 4), ::testing::IsEmpty()) << "a goodbye may be on its way";
  watch.leave(1);
  EXPECT_THAT(lost_between(watch, 5, 9), ::testing::ElementsAre(0));
}

TEST(FailureDetector, TakesTheWordOfOthersForProcessesThatNobodyHereCanSee) {
  std::set<std::size_t> dead;
  FailureDetector watch(far_away(3), 0, [&](std::size_t rank) { return dead.contains(rank); });
  EXPECT_THAT(lost_between(watch, 0, 3), ::testing::IsEmpty());
  dead = {1, 2};
  EXPECT_THAT(lost_between(watch, 4, 4), ::testing::IsEmpty()) << "a goodbye may be on its way";
  watch.leave(2);
  EXPECT_THAT(lost_between(watch, 5, 9), ::testing::ElementsAre(1));
}

TEST(RankProcess, IsLeftAloneWhereItsNumberMeansAnother) {
  RankProcess stranger = RankProcess::own();
  stranger.place += 1;
  EXPECT_FALSE(stranger.has_ended(RankProcess::own()));
  EXPECT_FALSE(stranger.kill(RankProcess::own()));
}

}  // namespace
}  // namespace skyline::engine
