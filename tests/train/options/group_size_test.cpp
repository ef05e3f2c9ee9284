#include "train/options/group_size.hpp"

#include "train/fixtures/train_fixtures.hpp"

#include <gtest/gtest.h>

namespace skyline::train {
namespace {

space::Network network_of(std::int64_t flops, std::int64_t parameters) {
  space::Network network = test::conv_network({1, 8, 8}, 3, 3, 8, 10);
  network.cost.flops = flops;
  network.cost.parameters = parameters;
  return network;
}

GroupOptions automatic(std::uint32_t most, bool synchronized = false) {
  GroupOptions options;
  options.members = std::nullopt;
  options.most = most;
  options.statistics =
      synchronized ? GroupOptions::Statistics::kSynchronized : GroupOptions::Statistics::kLocal;
  return options;
}

TEST(GroupSize, IsWhatTheOptionsSay) {
  GroupOptions options;
  EXPECT_EQ(choose_members(network_of(1'000, 10), {32}, options), 1U);
  options.members = 3;
  EXPECT_EQ(choose_members(network_of(1'000, 10), {32}, options), 3U);
}

TEST(GroupSize, GrowsWithTheStepAndShrinksWithWhatIsSummed) {
  struct Case {
    std::int64_t flops;
    std::int64_t parameters;
    std::int64_t batch;
    std::uint32_t most;
    std::uint32_t members;
  };
  const Case cases[] = {
      {100'000, 10'000, 32, 8, 1},            // 0.2 ms of arithmetic: not worth a message
      {1'000'000, 10'000, 32, 8, 2},          // 2 ms
      {10'000'000, 50'000, 64, 8, 8},         // 38 ms
      {10'000'000, 50'000, 64, 64, 8},        // the most is not reached
      {10'000'000, 50'000'000, 64, 64, 1},    // 200 MB of gradients for those 38 ms
      {1'000'000'000, 50'000'000, 64, 8, 4},  // the same for 4 s
      {1'000'000'000, 50'000, 3, 8, 1},       // one of two members would wait for the other half of the time
      {1'000'000'000, 50'000, 6, 64, 2},      // no member without a sample
      {1'000'000'000, 50'000, 64, 7, 4},      // powers of two alone
      {1'000'000'000, 50'000, 64, 1, 1},
  };
  for (const Case& one : cases) {
    EXPECT_EQ(choose_members(network_of(one.flops, one.parameters), {one.batch}, automatic(one.most)),
              one.members)
        << one.flops << " flops, " << one.parameters << " parameters, batch " << one.batch << ", most "
        << one.most;
  }
}

TEST(GroupSize, SpreadsOverGpusOnlyWhatFillsThem) {
  const space::Network small = network_of(10'000'000, 50'000);
  EXPECT_EQ(choose_members(small, {64}, automatic(8)), 8U);
  EXPECT_EQ(choose_members(small, {64}, automatic(8), MemberKind::kGpu), 1U);
  const space::Network large = network_of(8'000'000'000, 25'000'000);  // a ResNet-50 on ImageNet
  EXPECT_EQ(choose_members(large, {256}, automatic(8), MemberKind::kGpu), 8U);
}

TEST(GroupSize, CountsTheSumsOfSynchronizedStatistics) {
  const space::Network network = network_of(1'000'000, 10'000);
  EXPECT_GT(predicted_efficiency(network, {32}, automatic(8), 4),
            predicted_efficiency(network, {32}, automatic(8, true), 4));
  EXPECT_LT(choose_members(network, {32}, automatic(8, true)), choose_members(network, {32}, automatic(8)));
}

TEST(GroupSize, OfOneMemberIsEfficient) {
  EXPECT_DOUBLE_EQ(predicted_efficiency(network_of(1'000, 1'000'000), {32}, automatic(8), 1), 1.0);
}

TEST(GroupSize, CountsLayersOncePerPartAndLeavesEachPartASample) {
  const space::Network large = network_of(1'000'000'000, 10'000);
  EXPECT_EQ(choose_members(large, {32, 1}, automatic(8)), 8U);
  EXPECT_EQ(choose_members(large, {32, 16}, automatic(8)), 2U);
  const space::Network small = network_of(1'000'000, 1'000);
  EXPECT_LT(predicted_efficiency(small, {64, 8}, automatic(8), 4),
            predicted_efficiency(small, {64, 1}, automatic(8), 4));
}

}  // namespace
}  // namespace skyline::train
