#include "app/doctor/doctor_findings.hpp"

#include "core/record.hpp"

#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline::app {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

const Finding kSound{Verdict::kGood, "cores", "a rank has 8 cores", ""};
const Finding kFull{Verdict::kProblem, "run folder", "/scratch: full", "free some space"};

TEST(DoctorFindings, ComeOutOfAMessageAsTheyWentIn) {
  const std::vector<Finding> findings =
      from_record<std::vector<Finding>>(to_record(std::vector{kSound, kFull}));
  ASSERT_THAT(findings, SizeIs(2));
  EXPECT_EQ(findings[1].verdict, Verdict::kProblem);
  EXPECT_EQ(findings[1].subject, "run folder");
  EXPECT_EQ(findings[1].text, "/scratch: full");
  EXPECT_EQ(findings[1].advice, "free some space");
  EXPECT_THAT(from_record<std::vector<Finding>>(to_record(std::vector<Finding>())), SizeIs(0));
}

TEST(DoctorFindings, SayOnceWhatManyRanksFound) {
  const std::vector<std::vector<Finding>> by_rank{{kSound}, {kSound, kFull}, {kSound}, {kSound, kFull}};
  const std::vector<std::string> hosts{"h1", "h1", "h2", "h2"};
  const std::vector<SharedFinding> shared = merge_findings(by_rank, hosts);
  ASSERT_THAT(shared, SizeIs(2));
  EXPECT_THAT(shared[0].hosts, ElementsAre("h1", "h2"));
  EXPECT_EQ(findings_text(shared, 2),
            "ok       cores: a rank has 8 cores\n"
            "PROBLEM  run folder: /scratch: full\n"
            "         -> free some space\n");
}

TEST(DoctorFindings, NameTheHostsWhereNotAllFoundIt) {
  std::vector<std::vector<Finding>> by_rank(512, {kSound});
  std::vector<std::string> hosts;
  for (int i = 0; i < 512; ++i) {
    hosts.push_back("h" + std::to_string(i / 8));
    if (i % 16 == 0) by_rank[static_cast<std::size_t>(i)].push_back(kFull);
  }
  const std::string text = findings_text(merge_findings(by_rank, hosts), 64);
  EXPECT_EQ(text,
            "ok       cores: a rank has 8 cores\n"
            "PROBLEM  run folder: /scratch: full (h0, h2, h4 and 29 more)\n"
            "         -> free some space\n");
}

TEST(DoctorFindings, RoundDownSoThatNodesAgree) {
  EXPECT_EQ(with_coarse_unit(243.0, "GB"), "200 GB");
  EXPECT_EQ(with_coarse_unit(0.07, "s"), "0.05 s");
  EXPECT_EQ(with_coarse_unit(1.0, "GB"), "1 GB");
  EXPECT_EQ(with_coarse_unit(0.0, "GB"), "0 GB");
}

}  // namespace
}  // namespace skyline::app
