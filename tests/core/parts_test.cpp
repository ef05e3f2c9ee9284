#include "core/system/parts.hpp"

#include <atomic>
#include <latch>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace skyline {
namespace {

TEST(Parts, HaveEachElementOnce) {
  for (const std::size_t count : {0U, 1U, 7U, 64U, 100U}) {
    for (const std::size_t size : {1U, 7U, 200U}) {
      for (const std::size_t threads : {1U, 3U, 50U}) {
        std::vector<std::atomic<int>> times(count);
        in_parts(count, size, threads, [&](std::size_t begin, std::size_t end) {
          EXPECT_LT(begin, end);
          EXPECT_LE(end - begin, size);
          for (std::size_t i = begin; i < end; ++i) ++times[i];
        });
        for (const std::atomic<int>& time : times) EXPECT_EQ(time, 1);
      }
    }
  }
}

TEST(Parts, RunOnSoManyThreadsAtOnce) {
  std::latch all(3);
  std::mutex mutex;
  std::set<std::thread::id> ids;
  in_parts(3, 1, 3, [&](std::size_t, std::size_t) {
    all.arrive_and_wait();
    const std::lock_guard lock(mutex);
    ids.insert(std::this_thread::get_id());
  });
  EXPECT_EQ(ids.size(), 3);
  EXPECT_TRUE(ids.contains(std::this_thread::get_id()));
}

TEST(Parts, RunHereIfThereIsOneThread) {
  in_parts(10, 2, 1, [&, here = std::this_thread::get_id()](std::size_t, std::size_t) {
    EXPECT_EQ(std::this_thread::get_id(), here);
  });
}

TEST(Parts, ThrowWhatOneOfThemThrowsWhenAllHaveEnded) {
  std::atomic<int> running = 0;
  const auto work = [&](std::size_t begin, std::size_t) {
    ++running;
    const bool fails = begin == 5;
    --running;
    if (fails) throw std::runtime_error("the sixth");
  };
  EXPECT_THROW(in_parts(20, 1, 4, work), std::runtime_error);
  EXPECT_EQ(running, 0);
}

}  // namespace
}  // namespace skyline
