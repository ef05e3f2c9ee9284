#include "core/background_queue.hpp"

#include "skyline/core/error.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace skyline {
namespace {

using std::chrono::milliseconds;

/// A job that holds the thread up until it is let go; outlives its queue.
class HeldJob {
 public:
  std::function<void()> job() {
    return [state = state_] {
      state->started.set_value();
      state->gate.get_future().wait();
    };
  }
  void wait_until_it_runs() { state_->started.get_future().wait(); }
  void let_go() { state_->gate.set_value(); }

 private:
  struct State {
    std::promise<void> started;
    std::promise<void> gate;
  };
  std::shared_ptr<State> state_ = std::make_shared<State>();
};

bool waits(const std::future<void>& adding) {
  return adding.wait_for(milliseconds(50)) == std::future_status::timeout;
}

TEST(BackgroundQueue, DoesTheJobsInOrderOnOneOtherThread) {
  BackgroundQueue queue(4);
  std::vector<int> done;
  std::vector<std::thread::id> threads;
  for (int i = 0; i < 100; ++i) {
    queue.add([&, i] {
      done.push_back(i);
      threads.push_back(std::this_thread::get_id());
    });
  }
  queue.drain();
  ASSERT_EQ(done.size(), 100U);
  EXPECT_TRUE(std::ranges::is_sorted(done));
  EXPECT_EQ(std::ranges::count(threads, threads.front()), 100);
  EXPECT_NE(threads.front(), std::this_thread::get_id());
}

TEST(BackgroundQueue, AnAddWaitsWhileTheQueueIsFullAndATriedOneIsDropped) {
  BackgroundQueue queue(2);
  HeldJob running;
  queue.add(running.job());
  running.wait_until_it_runs();
  bool dropped_ran = false;
  int done = 0;
  queue.add([&] { ++done; });
  EXPECT_TRUE(queue.try_add([&] { ++done; }));
  EXPECT_FALSE(queue.try_add([&] { dropped_ran = true; }));
  EXPECT_TRUE(queue.try_add([&] { ++done; }, 2)) << "twice as many may wait";
  auto one_more = std::async(std::launch::async, [&] { queue.add([&] { ++done; }); });
  EXPECT_TRUE(waits(one_more));
  queue.post([&] { ++done; });
  EXPECT_FALSE(queue.idle());
  running.let_go();
  one_more.get();
  queue.drain();
  EXPECT_TRUE(queue.idle());
  EXPECT_EQ(done, 5);
  EXPECT_FALSE(dropped_ran);
}

TEST(BackgroundQueue, AnAddWaitsWhileTheJobsHoldTooManyBytes) {
  BackgroundQueue queue(256, 100);
  HeldJob running;
  queue.add(running.job(), 60);
  running.wait_until_it_runs();
  queue.add([] {}, 40);
  auto one_more = std::async(std::launch::async, [&] { queue.add([] {}, 1); });
  EXPECT_TRUE(waits(one_more)) << "the job at work counts too";
  queue.add([] {});  // holds nothing, and need not wait
  running.let_go();
  one_more.get();
  queue.drain();
}

TEST(BackgroundQueue, AJobLargerThanTheBudgetGoesAlone) {
  BackgroundQueue queue(256, 100);
  HeldJob small;
  queue.add(small.job(), 1);
  small.wait_until_it_runs();
  HeldJob large;
  auto adding = std::async(std::launch::async, [&] { queue.add(large.job(), 1000); });
  EXPECT_TRUE(waits(adding));
  small.let_go();
  adding.get();
  large.wait_until_it_runs();
  auto after = std::async(std::launch::async, [&] { queue.add([] {}, 1); });
  EXPECT_TRUE(waits(after));
  large.let_go();
  after.get();
  queue.drain();
}

TEST(BackgroundQueue, FinishDoesWhatWaitsWhileThereIsTime) {
  BackgroundQueue queue(10);
  std::vector<int> done;
  for (int i = 0; i < 10; ++i) queue.add([&, i] { done.push_back(i); });
  EXPECT_TRUE(queue.finish(std::chrono::minutes(1)));
  EXPECT_EQ(done.size(), 10U);
}

TEST(BackgroundQueue, LeavesAThreadThatHangsAndDropsWhatWaits) {
  const auto later = std::make_shared<std::atomic<bool>>(false);
  const std::weak_ptr<std::atomic<bool>> held = later;
  HeldJob hanging;
  {
    BackgroundQueue queue(10);
    queue.add(hanging.job());
    hanging.wait_until_it_runs();
    queue.add([later] { *later = true; });
    EXPECT_FALSE(queue.drain_for(milliseconds(1)));
    EXPECT_FALSE(queue.finish(milliseconds(1)));
  }
  EXPECT_EQ(held.use_count(), 1) << "a dropped job is freed";
  hanging.let_go();
  EXPECT_FALSE(*later);
}

TEST(BackgroundQueue, NeedsRoomForOneJob) {
  EXPECT_THROW(BackgroundQueue queue(0), InternalError);
}

}  // namespace
}  // namespace skyline
