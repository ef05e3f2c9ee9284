#include "comm/agreement.hpp"

#include "skyline/core/error.hpp"

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

TEST_F(AgreementTest, GathersTextsOfAnyLength) {
  const auto texts = gather(world(), std::string(static_cast<std::size_t>(1000 * rank()), 'r'));
  EXPECT_EQ(texts.size(), static_cast<std::size_t>(rank() == 0 ? size() : 0));
  for (std::size_t one = 0; one < texts.size(); ++one) EXPECT_EQ(texts[one], std::string(1000 * one, 'r'));
}

TEST_F(AgreementTest, RefusesARecordThatIsTooLongBeforeAnyExchange) {
  EXPECT_THROW(gather(world(), std::string(kMostGatheredBytes, 'x')), InternalError);
  if (rank() == 0) {
    EXPECT_THROW(share(world(), std::string(kMostSharedBytes, 'x')), InternalError);
  }
  EXPECT_EQ(share(world(), std::string("goes on")), "goes on");
}

TEST_F(AgreementTest, KnowsTheHostsOfAllRanksOnEveryRank) {
  const std::vector<std::string>& hosts = testing::environment().hosts();
  EXPECT_EQ(hosts.size(), static_cast<std::size_t>(size()));
  EXPECT_EQ(hosts.at(static_cast<std::size_t>(rank())), testing::environment().place().host);
}

TEST_F(AgreementTest, TellsEveryRankWhatIsSoOnAnyOfThem) {
  EXPECT_FALSE(any(world(), false));
  EXPECT_TRUE(any(world(), true));
  for (int one = 0; one < size(); ++one) EXPECT_TRUE(any(world(), rank() == one));
}

TEST_F(AgreementTest, TellsEveryRankWhetherAllHaveTheSameTextHoweverLong) {
  std::string text(2 * kMostGatheredBytes, 'x');
  EXPECT_TRUE(same_everywhere(world(), text));
  for (int one = 1; one < size(); ++one) {
    std::string mine = text;
    if (rank() == one) mine.back() = 'y';
    EXPECT_FALSE(same_everywhere(world(), mine));
  }
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
