#include "core/system/process_tree.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <future>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace skyline {
namespace {

using ::testing::UnorderedElementsAre;

std::vector<pid_t> ids_below(pid_t ancestor, const std::vector<ListedProcess>& all) {
  std::vector<pid_t> ids;
  for (const ListedProcess& process : descendants_of(std::array{ancestor}, all)) ids.push_back(process.id);
  return ids;
}

TEST(ProcessTreeTest, ThisProcessIsListedWithItsParentAndGroup) {
  const std::vector<ListedProcess> all = list_processes();
  const auto self = std::ranges::find(all, ::getpid(), &ListedProcess::id);
  ASSERT_NE(self, all.end());
  EXPECT_EQ(self->parent, ::getppid());
  EXPECT_EQ(self->group, ::getpgrp());
  EXPECT_EQ(self->session, ::getsid(0));
  EXPECT_GT(self->resident_bytes, 100'000U);
  EXPECT_GT(memory_of(*self), 100'000U);
  EXPECT_LE(memory_of(*self), 2 * self->resident_bytes);
}

TEST(ProcessTreeTest, TheThreadsOfAProcessAreCounted) {
  const auto threads = [] {
    const std::vector<ListedProcess> all = list_processes();
    return std::ranges::find(all, ::getpid(), &ListedProcess::id)->threads;
  };
  const std::uint64_t before = threads();
  EXPECT_GE(before, 1U);
  std::promise<void> end;
  std::jthread other([&] { end.get_future().wait(); });
  EXPECT_EQ(threads(), before + 1);
  end.set_value();
}

TEST(ProcessTreeTest, DescendantsAreFoundAtAnyDepth) {
  const std::vector<ListedProcess> all{{.id = 9, .parent = 7},
                                       {.id = 2, .parent = 1},
                                       {.id = 7, .parent = 2},
                                       {.id = 3, .parent = 1},
                                       {.id = 5, .parent = 4}};
  EXPECT_THAT(ids_below(2, all), UnorderedElementsAre(7, 9));
  EXPECT_THAT(ids_below(1, all), UnorderedElementsAre(2, 3, 7, 9));
  EXPECT_THAT(ids_below(9, all), UnorderedElementsAre());
}

TEST(ProcessTreeTest, AListThatWasReadWhileProcessesEndedIsNoEndlessLoop) {
  const std::vector<ListedProcess> circle{{.id = 2, .parent = 3}, {.id = 3, .parent = 2}};
  EXPECT_LE(ids_below(2, circle).size(), 4U);
}

TEST(ProcessTreeTest, TheMemoryOfAProcessThatIsGoneIsWhatWasListed) {
  EXPECT_EQ(memory_of({.id = 1 << 30, .resident_bytes = 77}), 77U);
}

}  // namespace
}  // namespace skyline
