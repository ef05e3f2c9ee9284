#include "support/local_groups.hpp"

#include <array>
#include <thread>

#include <gtest/gtest.h>

namespace skyline::testing {
namespace {

using trial::shard_of;

/// Runs `course` once a member, each on a thread of its own.
template <typename Course>
void run_members(std::size_t members, const Course& course) {
  const auto groups = make_local_groups(members);
  std::vector<std::thread> threads;
  for (const auto& group : groups) threads.emplace_back([&] { course(*group); });
  for (auto& thread : threads) thread.join();
}

TEST(LocalGroups, AddAlongTheTree) {
  // In any other order the small values vanish: (1 + 1e8) + -1e8 = 0, 1 + (1e8 + -1e8) = 1.
  const std::array<float, 3> given{1.0F, 1e8F, -1e8F};
  run_members(3, [&](trial::TrialGroup& group) {
    std::array<float, 1> value{given[group.member()]};
    group.all_reduce(value)->wait();
    EXPECT_EQ(value[0], 0.0F);
    std::array<double, 1> count{1};
    group.sum(count);
    EXPECT_EQ(count[0], 3.0);
  });
}

TEST(LocalGroups, ScatterAndGatherParts) {
  run_members(3, [&](trial::TrialGroup& group) {
    std::vector<float> values(100, static_cast<float>(group.member()));
    group.reduce_scatter(values)->wait();
    const auto mine = shard_of(values.size(), 3, group.member());
    for (std::size_t i = mine.begin; i < mine.end; ++i) EXPECT_EQ(values[i], 3.0F);
    group.all_gather(values)->wait();
    EXPECT_EQ(values, std::vector<float>(100, 3.0F));

    std::array<std::byte, 1> from_leader{std::byte{static_cast<unsigned char>(group.member() + 7)}};
    group.broadcast(from_leader);
    EXPECT_EQ(from_leader[0], std::byte{7});
  });
}

TEST(LocalGroups, EndTheTrialForAllMembersWhenOneGivesItUp) {
  run_members(3, [&](trial::TrialGroup& group) {
    if (group.member() == 2) return group.abort({trial::FailureKind::kDiverged, "the loss is NaN"});
    std::array<double, 1> value{};
    try {
      group.sum(value);
      ADD_FAILURE() << "the sum lacks a member";
    } catch (const trial::GroupAborted& aborted) {
      EXPECT_EQ(aborted.failure().reason, "the loss is NaN");
    }
    EXPECT_THROW(group.check(), trial::GroupAborted);
  });
}

TEST(LocalGroups, GiveUpOnASilentMember) {
  const auto groups = make_local_groups(2, std::chrono::milliseconds(20));
  std::array<float, 1> value{};
  const auto operation = groups[0]->all_reduce(value);
  EXPECT_FALSE(operation->test());
  EXPECT_THROW(operation->wait(), trial::GroupAborted);
}

}  // namespace
}  // namespace skyline::testing
