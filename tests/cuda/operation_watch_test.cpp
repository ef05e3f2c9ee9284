#include "cuda/streams/operation_watch.hpp"

#include <stdexcept>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline::cuda {
namespace {

using std::chrono::seconds;
using ::testing::HasSubstr;

constexpr OperationWatch::Clock::time_point kStart{};

TEST(OperationWatch, TellsOfTheOldestOperationThatDoesNotEnd) {
  OperationWatch watch(seconds(300));
  watch.queue(kStart);
  watch.queue(kStart + seconds(100));
  EXPECT_EQ(watch.overdue(kStart + seconds(300), {}), std::nullopt);
  EXPECT_EQ(watch.overdue(kStart + seconds(301), {}),
            "operation 1 of the group has not ended for 300 s: a member is lost or stuck");
  watch.end_oldest();
  EXPECT_EQ(watch.overdue(kStart + seconds(301), {}), std::nullopt);
  EXPECT_THAT(watch.overdue(kStart + seconds(401), {}).value_or(""), HasSubstr("operation 2 of the group"));
  watch.end_oldest();
  EXPECT_EQ(watch.overdue(kStart + seconds(9999), {}), std::nullopt);
}

TEST(OperationWatch, TellsOfRecordedOperationsOnlyWhileTheThreadWaits) {
  OperationWatch watch(seconds(60));
  watch.record();
  EXPECT_EQ(watch.overdue(kStart + seconds(9999), {}), std::nullopt);
  EXPECT_EQ(watch.overdue(kStart + seconds(9999), kStart + seconds(9939)), std::nullopt);
  EXPECT_EQ(
      watch.overdue(kStart + seconds(9999), kStart + seconds(9938)),
      "a recorded step with 1 operation of the group has not ended for 60 s: a member is lost or stuck");
}

TEST(OperationWatch, SaysNothingOfALongWaitForOtherWork) {
  const OperationWatch watch(seconds(1));
  EXPECT_EQ(watch.overdue(kStart + seconds(9999), kStart), std::nullopt);
}

/// Throws when it is called often enough, as a reducer whose group is lost.
class Impatient final : public WaitWatch {
 public:
  int calls = 0;

 private:
  void look(Clock::time_point /*waiting_since*/) override {
    if (++calls == 2) throw std::runtime_error("lost");
  }
};

TEST(WaitWatch, IsCalledByTheWaitsOfItsThreadAloneUntilItIsGone) {
  {
    Impatient watch;
    std::thread([] { WaitWatch::call_all(WaitWatch::Clock::now()); }).join();
    EXPECT_EQ(watch.calls, 0);
    WaitWatch::call_all(WaitWatch::Clock::now());
    EXPECT_EQ(watch.calls, 1);
    EXPECT_THROW(WaitWatch::call_all(WaitWatch::Clock::now()), std::runtime_error);
  }
  WaitWatch::call_all(WaitWatch::Clock::now());
}

}  // namespace
}  // namespace skyline::cuda
