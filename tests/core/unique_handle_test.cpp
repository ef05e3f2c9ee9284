#include "core/system/unique_handle.hpp"

#include <vector>

#include <gtest/gtest.h>

namespace skyline {
namespace {

std::vector<int>& closed() {
  static std::vector<int> handles;
  return handles;
}

struct Traits {
  using Type = int;
  static constexpr Type kNull = -1;
  static void close(Type handle) noexcept { closed().push_back(handle); }
};
using Handle = UniqueHandle<Traits>;

TEST(UniqueHandle, ClosesOnceWhatItOwns) {
  closed().clear();
  {
    Handle first(1);
    Handle second(std::move(first));
    EXPECT_FALSE(first);  // NOLINT(bugprone-use-after-move): the state after a move is the point
    EXPECT_TRUE(second);
    EXPECT_TRUE(closed().empty());
  }
  EXPECT_EQ(closed(), std::vector<int>{1});
}

TEST(UniqueHandle, MoveAssignmentClosesTheOldHandle) {
  closed().clear();
  Handle handle(1);
  handle = Handle(2);
  EXPECT_EQ(closed(), std::vector<int>{1});
  EXPECT_EQ(handle.get(), 2);
}

TEST(UniqueHandle, ReleaseGivesTheHandleAwayUnclosed) {
  closed().clear();
  EXPECT_EQ(Handle(3).release(), 3);
  EXPECT_TRUE(closed().empty());
}

}  // namespace
}  // namespace skyline
