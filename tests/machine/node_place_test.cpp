#include "skyline/core/error.hpp"
#include "skyline/core/random.hpp"

#include "machine/node.hpp"

#include <algorithm>
#include <set>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline::machine {
namespace {

using ::testing::ElementsAre;
using Masks = std::vector<std::vector<int>>;

TEST(ShareProcessors, LeavesMasksThatDoNotOverlapAlone) {
  EXPECT_THAT(share_processors({{0, 1}, {2}, {3, 7}}),
              ElementsAre(ElementsAre(0, 1), ElementsAre(2), ElementsAre(3, 7)));
}

TEST(ShareProcessors, CutsOneMaskIntoBlocksOfNeighbours) {
  EXPECT_THAT(share_processors(Masks(2, {0, 1, 2, 3})), ElementsAre(ElementsAre(0, 1), ElementsAre(2, 3)));
  EXPECT_THAT(share_processors(Masks(3, {4, 5, 6, 7, 8})),
              ElementsAre(ElementsAre(4), ElementsAre(5, 6), ElementsAre(7, 8)));
}

TEST(ShareProcessors, LetsRanksShareInTurnsWhenProcessorsAreFewer) {
  EXPECT_THAT(share_processors(Masks(5, {2, 9})),
              ElementsAre(ElementsAre(2), ElementsAre(9), ElementsAre(2), ElementsAre(9), ElementsAre(2)));
}

TEST(ShareProcessors, GivesTheOneThatBothWantToTheOneThatHasNoOther) {
  EXPECT_THAT(share_processors({{0, 1}, {0}}), ElementsAre(ElementsAre(1), ElementsAre(0)));
}

TEST(ShareProcessors, TreatsPairsOfRanksOnTwoSocketsApart) {
  EXPECT_THAT(share_processors({{0, 1}, {2, 3}, {0, 1}, {2, 3}}),
              ElementsAre(ElementsAre(0), ElementsAre(2), ElementsAre(1), ElementsAre(3)));
}

TEST(ShareProcessors, CountsTheRanksWithoutAProcessorOfTheirOwn) {
  EXPECT_EQ(count_sharing_ranks(share_processors({{0, 1}, {2}, {3, 7}})), 0);
  EXPECT_EQ(count_sharing_ranks(share_processors(Masks(5, {2, 9}))), 5);
  EXPECT_EQ(count_sharing_ranks(share_processors({{0}, {0}, {1, 2}})), 2);
  EXPECT_THAT(all_processors({{3, 7}, {0, 3}}), ElementsAre(0, 3, 7));
}

TEST(ShareProcessors, RefusesARankWithoutAnyProcessor) {
  EXPECT_THROW(share_processors({{0}, {}}), InternalError);
}

/// For random masks every rank gets processors, only from its own mask, and no processor in a mask is idle.
TEST(ShareProcessors, GivesEveryoneSomethingAndLeavesNothingIdleOnRandomMasks) {
  RandomStream random(7);
  for (int round = 0; round < 500; ++round) {
    Masks masks(1 + random.below(6));
    std::set<int> wanted;
    for (auto& mask : masks) {
      for (int processor = 0; processor < 6; ++processor) {
        if (random.below(2) == 1) mask.push_back(processor);
      }
      if (mask.empty()) mask.push_back(static_cast<int>(random.below(6)));
      wanted.insert(mask.begin(), mask.end());
    }
    const Masks shares = share_processors(masks);
    ASSERT_EQ(shares.size(), masks.size());
    std::set<int> given;
    for (std::size_t rank = 0; rank < masks.size(); ++rank) {
      ASSERT_FALSE(shares[rank].empty());
      ASSERT_TRUE(std::ranges::is_sorted(shares[rank]));
      ASSERT_TRUE(std::ranges::includes(masks[rank], shares[rank]));
      given.insert(shares[rank].begin(), shares[rank].end());
    }
    ASSERT_EQ(given, wanted);
  }
}

}  // namespace
}  // namespace skyline::machine
