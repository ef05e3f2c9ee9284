#include "evaluate/process/host_resources.hpp"

#include <gmock/gmock.h>

namespace skyline::evaluate {
namespace {

using ::testing::ElementsAre;

TEST(ProcessorShares, GiveEachProcessProcessorsOfItsOwnAsLongAsThereAreEnough) {
  ProcessorShares shares({2, 3, 5, 8});
  const auto first = shares.acquire(2);
  EXPECT_THAT(first.processors(), ElementsAre(2, 3));
  {
    const auto second = shares.acquire(1);
    EXPECT_THAT(second.processors(), ElementsAre(5));
    EXPECT_THAT(shares.acquire(2).processors(), ElementsAre(2, 8)) << "one is shared";
  }
  EXPECT_THAT(shares.acquire(9).processors(), ElementsAre(2, 3, 5, 8));
  EXPECT_EQ(shares.acquire(2).processors().size(), 2U);
}

}  // namespace
}  // namespace skyline::evaluate
