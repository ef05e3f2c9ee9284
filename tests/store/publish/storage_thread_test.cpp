#include "store/publish/storage_thread.hpp"

#include "skyline/core/error.hpp"

#include "core/system/may_block.hpp"
#include "support/user_error_of.hpp"

#include <algorithm>
#include <atomic>
#include <functional>
#include <future>
#include <vector>

#include <gmock/gmock.h>

namespace skyline::store {
namespace {

using skyline::testing::user_error_of;

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

}  // namespace
}  // namespace skyline::store
