#include "comm/mpi/start_watch.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline::comm {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

TEST(DescribeMissing, NamesRanksAndHostsThatAreSilent) {
  EXPECT_THAT(
      describe_missing({"node07", "node07", "", "", "", "node09", ""}, {"node07", "node08", "node09"}),
      StartsWith("no word over MPI from ranks 2-4, 6 (none at all from node08); heard from node07, "
                 "node09: a process hangs, or MPI's connections between hosts are blocked"));
}

TEST(DescribeMissing, KnowsAHostByItsNameWithAndWithoutADomain) {
  EXPECT_THAT(describe_missing({"node07.site.org", ""}, {"node07", "node08"}),
              HasSubstr("from rank 1 (none at all from node08); heard from node07.site.org: "));
}

TEST(DescribeMissing, BlamesNoneOfMoreHostsThanRanksAreMissing) {
  const std::string text =
      describe_missing({"node01", "node01", "node02", ""}, {"node01", "node02", "node03", "node04"});
  EXPECT_THAT(text, HasSubstr("from rank 3 (no rank heard on node03, node04, if any were started there);"));
  EXPECT_THAT(text, Not(HasSubstr("none at all")));
}

TEST(DescribeMissing, BlamesNoHostThatHasBeenHeardNorOneThatNobodyNamed) {
  EXPECT_THAT(describe_missing({"node07", ""}, {"node07"}), Not(HasSubstr("none at all")));
  EXPECT_THAT(describe_missing({"node07", ""}, {}), Not(HasSubstr("none at all")));
}

}  // namespace
}  // namespace skyline::comm
