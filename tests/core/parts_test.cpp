#include "core/system/parts.hpp"

#include <atomic>
#include <chrono>
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

TEST(Parts, ThrowWhenAllHaveEnded) {
  std::latch both(2);
  std::atomic<bool> has_ended = false;
  const auto work = [&](std::size_t begin, std::size_t) {
    both.arrive_and_wait();
    if (begin == 0) throw std::runtime_error("the first");
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    has_ended = true;
  };
  EXPECT_THROW(in_parts(2, 1, 2, work), std::runtime_error);
  EXPECT_TRUE(has_ended);
}

TEST(Parts, ThrowWhatTheFirstOfThemThrows) {
  for (int i = 0; i < 200; ++i) {
    std::latch all(3);
    const auto work = [&](std::size_t begin, std::size_t) {
      all.arrive_and_wait();
      if (begin > 0) throw begin;
    };
    try {
      in_parts(3, 1, 3, work);
      FAIL();
    } catch (std::size_t begin) {
      EXPECT_EQ(begin, 1U);
    }
  }
}

}  // namespace
}  // namespace skyline
