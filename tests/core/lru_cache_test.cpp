#include "core/lru_cache.hpp"

#include <gtest/gtest.h>

namespace skyline {
namespace {

using Cache = LruCache<int, int>;

Cache::Entry value(int number) {
  return std::make_shared<const int>(number);
}

TEST(LruCache, ForgetsTheLeastRecentlyUsedBeyondItsBytes) {
  Cache cache(10);
  for (int key = 0; key < 2; ++key) cache.keep(key, value(key), 5);
  EXPECT_EQ(*cache.find(0), 0);
  cache.keep(2, value(2), 4);
  EXPECT_EQ(cache.find(1), nullptr);
  EXPECT_EQ(*cache.find(0), 0);
  EXPECT_EQ(cache.bytes(), 9U);
}

TEST(LruCache, ReplacesTheValueOfAKeyAndLeavesOutWhatIsTooLarge) {
  Cache cache(10);
  cache.keep(0, value(1), 8);
  cache.keep(0, value(2), 6);
  cache.keep(1, value(3), 11);
  EXPECT_EQ(*cache.find(0), 2);
  EXPECT_EQ(cache.find(1), nullptr);
  EXPECT_EQ(cache.bytes(), 6U);
}

TEST(LruCache, GivesOnlyWhatIsWanted) {
  Cache cache(10);
  cache.keep(0, value(1), 1);
  EXPECT_EQ(cache.find(0, [](int found) { return found == 2; }), nullptr);
  cache.clear();
  EXPECT_EQ(cache.find(0), nullptr);
  EXPECT_EQ(cache.bytes(), 0U);
}

}  // namespace
}  // namespace skyline
