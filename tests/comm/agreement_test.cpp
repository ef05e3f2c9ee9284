#include "comm/agreement.hpp"

#include "support/mpi_test.hpp"

#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace skyline::comm {
namespace {

class AgreementTest : public testing::MpiTest {};

TEST_F(AgreementTest, SharesRankZerosValueWhateverTheOthersHave) {
  struct Start {
    int exit_code;
    std::optional<double> seconds_left;
  };
  const Start start = share(world(), rank() == 0 ? Start{75, 2.5} : Start{rank(), std::nullopt});
  EXPECT_EQ(start.exit_code, 75);
  EXPECT_EQ(start.seconds_left, 2.5);
  EXPECT_EQ(share(world(), 3 - rank()), 3);
}

TEST_F(AgreementTest, SharesRankZerosTextOfAnyLength) {
  const std::string text(100'000, 'x');
  EXPECT_EQ(share(world(), rank() == 0 ? text : std::string("mine")), text);
  EXPECT_EQ(share(world(), rank() == 0 ? std::string() : std::string("mine")), "");
}

TEST_F(AgreementTest, GathersEveryRanksValueOnRankZero) {
  std::vector<int> expected;
  for (int one = 0; rank() == 0 && one < size(); ++one) expected.push_back(10 * one);
  EXPECT_EQ(gather(world(), 10 * rank()), expected);
}

TEST_F(AgreementTest, TellsEveryRankWhatIsSoOnAnyOfThem) {
  EXPECT_FALSE(any(world(), false));
  EXPECT_TRUE(any(world(), true));
  for (int one = 0; one < size(); ++one) EXPECT_TRUE(any(world(), rank() == one));
}

TEST_F(AgreementTest, FindsNoProblemWhereAllRanksAreReady) {
  EXPECT_EQ(first_problem(world(), ""), "");
}

TEST_F(AgreementTest, TellsEveryRankTheProblemOfTheFirstThatHasOne) {
  const int last = size() - 1;
  const std::string mine = "rank " + std::to_string(rank()) + " has no data";
  EXPECT_EQ(first_problem(world(), rank() == last ? mine : ""),
            "rank " + std::to_string(last) + " has no data");
  EXPECT_EQ(first_problem(world(), mine), "rank 0 has no data");
}

TEST_F(AgreementTest, SignsAProblemThatIsNotThatOfAllRanks) {
  const int last = size() - 1;
  const std::string signature = "[rank " + std::to_string(rank()) + "]";
  EXPECT_EQ(first_problem(world(), "no data", signature), "no data");
  const std::string signed_problem = "[rank " + std::to_string(last) + "] no data";
  EXPECT_EQ(first_problem(world(), rank() == last ? "no data" : "", signature),
            size() == 1 ? "no data" : signed_problem);
}

}  // namespace
}  // namespace skyline::comm
