#include "core/system/process.hpp"

#include <algorithm>
#include <thread>

#include <gtest/gtest.h>

namespace skyline {
namespace {

TEST(Processors, AreAscendingAndAtLeastOne) {
  const auto processors = allowed_processors();
  ASSERT_FALSE(processors.empty());
  EXPECT_TRUE(std::is_sorted(processors.begin(), processors.end()));
}

TEST(Processors, BindingHoldsForTheCallingThreadOnly) {
  const auto before = allowed_processors();
  std::vector<int> inside;
  std::thread([&] {
    EXPECT_TRUE(bind_this_thread(before.back()));
    inside = allowed_processors();
  }).join();
  EXPECT_EQ(inside, std::vector<int>{before.back()});
  EXPECT_EQ(allowed_processors(), before);
}

TEST(Processors, BindingToSeveralIsInherited) {
  const auto before = allowed_processors();
  std::vector<int> inside;
  std::thread([&] {
    EXPECT_TRUE(bind_this_thread(std::vector<int>{before.front(), before.back()}));
    std::thread([&] { inside = allowed_processors(); }).join();
  }).join();
  EXPECT_EQ(inside.front(), before.front());
  EXPECT_EQ(inside.back(), before.back());
  EXPECT_LE(inside.size(), 2);
}

TEST(Processors, RefusesToBindToAProcessorThatIsNotThere) {
  const auto before = allowed_processors();
  EXPECT_FALSE(bind_this_thread(-1));
  EXPECT_FALSE(bind_this_thread(100'000));
  EXPECT_FALSE(bind_this_thread(std::vector<int>{}));
  EXPECT_EQ(allowed_processors(), before);
}

}  // namespace
}  // namespace skyline
