// Sums of a group in memory of the host, where the values are or through which they go.
#include "skyline/core/error.hpp"

#include "support/local_groups.hpp"
#include "train/device/host_accelerator.hpp"
#include "train/device/staged_reducer.hpp"

#include <thread>
#include <vector>

#include <ATen/core/Tensor.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

namespace skyline::train {
namespace {

constexpr std::int64_t kValues = 3 * 48;  // equal parts for three members

using Maker = std::unique_ptr<DeviceReducer> (*)(trial::TrialGroup& group);

class HostSums : public ::testing::TestWithParam<Maker> {
 protected:
  static std::unique_ptr<DeviceReducer> make_reducer(trial::TrialGroup& group) { return GetParam()(group); }

  /// Calls `course` once a member, each on a thread of its own, with its reducer.
  template <typename Course>
  static void run_members(std::size_t members, const Course& course) {
    const auto groups = testing::make_local_groups(members);
    std::vector<std::thread> threads;
    for (const auto& group : groups) {
      threads.emplace_back([&course, &group] {
        const auto reducer = make_reducer(*group);
        course(*group, *reducer);
      });
    }
    for (auto& thread : threads) thread.join();
  }
};
INSTANTIATE_TEST_SUITE_P(Makers, HostSums, ::testing::Values(&make_host_reducer, &make_staged_reducer));

std::vector<float> values_of(const at::Tensor& tensor) {
  const float* values = tensor.const_data_ptr<float>();
  return {values, values + tensor.numel()};
}

trial::Shard part_of_member(const trial::TrialGroup& group) {
  return trial::shard_of(static_cast<std::size_t>(kValues), group.members(), group.member());
}

TEST_P(HostSums, SumsForAllMembersAgainAndAgain) {
  run_members(3, [](trial::TrialGroup& group, DeviceReducer& reducer) {
    for (const std::int64_t count : {kValues, std::int64_t{7}, 2 * kValues}) {
      at::Tensor values = at::arange(count, at::kFloat).mul_(static_cast<double>(group.member() + 1));
      reducer.all_reduce(values);
      reducer.join();
      EXPECT_EQ(values_of(values), values_of(at::arange(count, at::kFloat).mul_(6.0)));
    }
  });
}

TEST_P(HostSums, GivesEachMemberItsPartOfTheSum) {
  run_members(3, [](trial::TrialGroup& group, DeviceReducer& reducer) {
    at::Tensor values = at::arange(kValues, at::kFloat);
    const trial::Shard mine = part_of_member(group);
    at::Tensor part = at::empty({static_cast<std::int64_t>(mine.end - mine.begin)}, at::kFloat);
    reducer.reduce_scatter(values, part);
    reducer.join();
    for (std::size_t i = mine.begin; i < mine.end; ++i) {
      EXPECT_EQ(values_of(part)[i - mine.begin], 3 * static_cast<float>(i));
    }
  });
}

TEST_P(HostSums, GathersThePartsOfAllMembers) {
  run_members(3, [](trial::TrialGroup& group, DeviceReducer& reducer) {
    const trial::Shard mine = part_of_member(group);
    const at::Tensor part = at::full({static_cast<std::int64_t>(mine.end - mine.begin)},
                                     static_cast<double>(group.member()), at::kFloat);
    at::Tensor values = at::full({kValues}, -1.0, at::kFloat);
    reducer.all_gather(part, values);
    reducer.join();
    for (std::size_t member = 0; member < 3; ++member) {
      const trial::Shard theirs = trial::shard_of(static_cast<std::size_t>(kValues), 3, member);
      for (std::size_t i = theirs.begin; i < theirs.end; ++i) {
        EXPECT_EQ(values_of(values)[i], static_cast<float>(member));
      }
    }
  });
}

TEST_P(HostSums, BeginsOperationsWithoutWaitingAndJoinsTheOldestFirst) {
  const auto groups = testing::make_local_groups(2);
  const auto mine = make_reducer(*groups[0]);
  const auto others = make_reducer(*groups[1]);
  at::Tensor first = at::full({kValues}, 1.0, at::kFloat);
  at::Tensor second = at::full({kValues}, 2.0, at::kFloat);
  at::Tensor other = at::full({kValues}, 10.0, at::kFloat);
  mine->all_reduce(first);
  mine->all_reduce(second);  // nobody else has come yet
  others->all_reduce(other);
  mine->join(1);  // the second one would never end
  EXPECT_EQ(values_of(first), values_of(at::full({kValues}, 11.0, at::kFloat)));
  others->join();
  others->all_reduce(other);
  mine->join();
  EXPECT_EQ(values_of(second), values_of(at::full({kValues}, 13.0, at::kFloat)));
  mine->join();  // nothing to wait for
}

TEST_P(HostSums, SumsFewNumbersAtOnce) {
  run_members(3, [](trial::TrialGroup& group, DeviceReducer& reducer) {
    at::Tensor sums = at::full({2}, static_cast<double>(group.member()), at::kDouble);
    reducer.all_reduce(sums);
    EXPECT_EQ(sums.const_data_ptr<double>()[1], 3.0);
  });
}

TEST_P(HostSums, RefusesPartsThatAreNotEqual) {
  const auto groups = testing::make_local_groups(3);
  const auto reducer = make_reducer(*groups[0]);
  at::Tensor values = at::zeros({100}, at::kFloat);
  at::Tensor part = at::zeros({32}, at::kFloat);
  EXPECT_THROW(reducer->reduce_scatter(values, part), InternalError);
  EXPECT_THROW(reducer->all_gather(part, values), InternalError);
}

TEST(HostReducer, RefusesValuesThatAreNoPlainFloats) {
  const auto groups = testing::make_local_groups(1);
  const auto reducer = make_host_reducer(*groups[0]);
  at::Tensor integers = at::zeros({4}, at::kLong);
  EXPECT_THROW(reducer->all_reduce(integers), InternalError);
  at::Tensor strided = at::zeros({4, 4}, at::kFloat).select(1, 0);
  EXPECT_THROW(reducer->all_reduce(strided), InternalError);
}

}  // namespace
}  // namespace skyline::train
