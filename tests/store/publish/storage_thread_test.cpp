#include "store/publish/storage_thread.hpp"

#include "skyline/core/error.hpp"

#include "core/system/may_block.hpp"
#include "support/user_error_of.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <thread>
#include <vector>

#include <gmock/gmock.h>

namespace skyline::store {
namespace {

using skyline::testing::user_error_of;

TEST(StorageThread, DoesTheJobsInOrderOnOneOtherThread) {
  StorageThread storage(4);
  std::vector<int> done;
  std::vector<std::thread::id> threads;
  for (int i = 0; i < 100; ++i) {
    storage.submit([&, i] {
      done.push_back(i);
      threads.push_back(std::this_thread::get_id());
    });
  }
  storage.drain();
  ASSERT_EQ(done.size(), 100u);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(done[static_cast<std::size_t>(i)], i);
  EXPECT_EQ(std::count(threads.begin(), threads.end(), threads.front()), 100);
  EXPECT_NE(threads.front(), std::this_thread::get_id());
}

TEST(StorageThread, ASubmitWaitsWhileTheQueueIsFull) {
  StorageThread storage(2);
  std::promise<void> gate;
  std::shared_future<void> open = gate.get_future().share();
  std::atomic<bool> started = false;
  storage.submit([&] {
    started = true;
    open.wait();
  });
  while (!started) std::this_thread::yield();
  storage.submit([] {});
  storage.submit([] {});
  auto fourth = std::async(std::launch::async, [&] { storage.submit([] {}); });
  EXPECT_EQ(fourth.wait_for(std::chrono::milliseconds(50)), std::future_status::timeout);
  gate.set_value();
  fourth.get();
  storage.drain();
}

TEST(StorageThread, APostNeverWaitsAndASubmitIsRefusedWhereNobodyMayWait) {
  std::vector<int> done;
  {
    StorageThread storage(2);
    std::promise<void> gate;
    storage.submit([open = gate.get_future().share()] { open.wait(); });
    const NeverBlocks others_wait;
    for (int i = 0; i < 1000; ++i) storage.post([&done, i] { done.push_back(i); });
    EXPECT_THROW(storage.submit([] {}), InternalError);
    EXPECT_THROW(storage.drain(), InternalError);
    gate.set_value();
  }
  ASSERT_EQ(done.size(), 1000U);
  EXPECT_TRUE(std::ranges::is_sorted(done));
}

/// A job that holds the thread up until it is let go.
class HeldJob {
 public:
  std::function<void()> job() {
    return [this] {
      started_.set_value();
      gate_.get_future().wait();
    };
  }
  void wait_until_it_runs() { started_.get_future().wait(); }
  void let_go() { gate_.set_value(); }

 private:
  std::promise<void> started_;
  std::promise<void> gate_;
};

bool waits(const std::future<void>& submission) {
  return submission.wait_for(std::chrono::milliseconds(50)) == std::future_status::timeout;
}

TEST(StorageThread, ASubmitWaitsWhileTheJobsHoldTooManyBytes) {
  StorageThread storage(256, 100);
  HeldJob running;
  storage.submit(running.job(), 60);
  running.wait_until_it_runs();
  storage.submit([] {}, 40);
  auto one_more = std::async(std::launch::async, [&] { storage.submit([] {}, 1); });
  EXPECT_TRUE(waits(one_more)) << "the job at work counts too";
  storage.submit([] {});  // holds nothing, and need not wait
  running.let_go();
  one_more.get();
  storage.drain();
}

TEST(StorageThread, AJobLargerThanTheBudgetGoesAlone) {
  StorageThread storage(256, 100);
  HeldJob small;
  storage.submit(small.job(), 1);
  small.wait_until_it_runs();
  HeldJob large;
  auto submission = std::async(std::launch::async, [&] { storage.submit(large.job(), 1000); });
  EXPECT_TRUE(waits(submission));
  small.let_go();
  submission.get();
  large.wait_until_it_runs();
  auto after = std::async(std::launch::async, [&] { storage.submit([] {}, 1); });
  EXPECT_TRUE(waits(after));
  large.let_go();
  after.get();
  storage.drain();
}

TEST(StorageThread, FinishesWhatIsQueuedBeforeItEnds) {
  std::atomic<int> done = 0;
  {
    StorageThread storage;
    for (int i = 0; i < 50; ++i) storage.submit([&] { ++done; });
  }
  EXPECT_EQ(done, 50);
}

TEST(StorageThread, RethrowsAFailureAndDropsLaterJobs) {
  StorageThread storage;
  bool later = false;
  storage.rethrow_failure();
  storage.submit([] { throw UserError("the disk is full"); });
  storage.submit([&] { later = true; });
  EXPECT_EQ(user_error_of([&] { storage.drain(); }), "the disk is full");
  EXPECT_EQ(user_error_of([&] { storage.rethrow_failure(); }), "the disk is full");
  storage.submit([&] { later = true; });
  EXPECT_EQ(user_error_of([&] { storage.drain(); }), "the disk is full");
  EXPECT_FALSE(later);
}

TEST(StorageThread, ASubmitThatWaitsIsFreedByAFailure) {
  StorageThread storage(1);
  for (int i = 0; i < 20; ++i) storage.submit([] { throw UserError("no"); });
  EXPECT_EQ(user_error_of([&] { storage.drain(); }), "no");
}

TEST(StorageThread, TellsOfAFailureThatNobodyAskedFor) {
  ::testing::internal::CaptureStderr();
  {
    StorageThread storage;
    storage.submit([] { throw UserError("nobody asked"); });
  }
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), ::testing::HasSubstr("nobody asked"));
}

TEST(StorageThread, NeedsRoomForOneJob) {
  EXPECT_THROW(StorageThread storage(0), InternalError);
}

}  // namespace
}  // namespace skyline::store
