#include "cuda/streams/wait_watch.hpp"

#include <stdexcept>
#include <thread>

#include <gtest/gtest.h>

namespace skyline::cuda {
namespace {

/// Throws when it is called often enough, as a reducer whose group is lost.
class Impatient final : public WaitWatch {
 public:
  int calls = 0;

 private:
  void check(Clock::time_point /*waiting_since*/) override {
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
