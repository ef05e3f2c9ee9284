#include "app/doctor/doctor_checks.hpp"

#include <numeric>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline::app {
namespace {

using comm::Launcher;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::vector<int> first(int count) {
  std::vector<int> processors(static_cast<std::size_t>(count));
  std::iota(processors.begin(), processors.end(), 0);
  return processors;
}

/// The first of `ranks` that share the node's first cores evenly.
comm::NodePlace place_with(int cores, int ranks) {
  comm::NodePlace place;
  place.local_size = ranks;
  place.allowed = first(cores);
  place.node_allowed = place.allowed;
  place.processors = first(std::max(1, cores / ranks));
  place.sharing_ranks = cores < ranks ? ranks : 0;
  return place;
}

machine::NodeLimits node_with(int cores) {
  machine::NodeLimits limits;
  limits.processors = first(cores);
  return limits;
}

TEST(DoctorCores, CountsTheSlotsThatTheCoresOfARankMake) {
  const Finding finding = judge_cores(place_with(16, 2), 4, Launcher::kMpirun);
  EXPECT_EQ(finding.verdict, Verdict::kGood);
  EXPECT_EQ(finding.text, "a rank has 8 cores to itself: 2 slots of 4 threads");
  EXPECT_EQ(finding.advice, "");
}

TEST(DoctorCores, SaysHowOneCoreBecomesEight) {
  const Finding finding = judge_cores(place_with(2, 2), 8, Launcher::kMpirun);
  EXPECT_EQ(finding.verdict, Verdict::kWarning);
  EXPECT_EQ(finding.text, "a rank has 1 core to itself, training.threads asks for 8");
  EXPECT_THAT(finding.advice, HasSubstr("mpirun --map-by slot:PE=8 --bind-to core"));
  EXPECT_THAT(judge_cores(place_with(2, 2), 8, Launcher::kSrun).advice, HasSubstr("srun --cpus-per-task=8"));
  EXPECT_THAT(judge_cores(place_with(1, 1), 8, Launcher::kNone).advice, HasSubstr("taskset"));
  EXPECT_THAT(judge_cores(place_with(1, 1), 8, Launcher::kOther).advice, HasSubstr("bind a rank to 8 cores"));
}

TEST(DoctorCores, FindsNothingAmissWhereRanksShareAllCoresOfTheNode) {
  EXPECT_THAT(judge_node_cores(place_with(16, 2), node_with(16), Launcher::kMpirun), IsEmpty());
  EXPECT_THAT(judge_node_cores(place_with(16, 2), machine::NodeLimits{}, Launcher::kMpirun), IsEmpty());
}

TEST(DoctorCores, WarnsOfRanksThatShareCores) {
  const std::vector<Finding> findings = judge_node_cores(place_with(4, 8), node_with(4), Launcher::kMpirun);
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].verdict, Verdict::kWarning);
  EXPECT_EQ(findings[0].text,
            "8 ranks of a node have no core to themselves: the node's ranks may use 4 cores");
  EXPECT_EQ(judge_cores(place_with(4, 8), 1, Launcher::kMpirun).text,
            "a rank has 1 core: 1 slot of 1 thread");
}

TEST(DoctorCores, NotesCoresThatNoRankMayUse) {
  const std::vector<Finding> findings = judge_node_cores(place_with(2, 2), node_with(64), Launcher::kMpirun);
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].verdict, Verdict::kNote);
  EXPECT_EQ(findings[0].text, "the ranks may use 2 of the node's 64 cores");
  EXPECT_THAT(findings[0].advice, HasSubstr("--map-by slot:PE=32 --bind-to core"));
}

TEST(DoctorCores, WarnsOfAQuotaOfTime) {
  machine::NodeLimits limits = node_with(8);
  limits.processor_quota = 2.5;
  const std::vector<Finding> findings = judge_node_cores(place_with(8, 2), limits, Launcher::kMpirun);
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].verdict, Verdict::kWarning);
  EXPECT_EQ(findings[0].text, "the control group grants the time of 2.5 cores, the ranks run on 8 cores");
  limits.processor_quota = 8;
  EXPECT_THAT(judge_node_cores(place_with(8, 2), limits, Launcher::kMpirun), IsEmpty());
}

TEST(DoctorCores, NotesARankThatSpansNumaNodesBesideOthers) {
  machine::NodeLimits limits = node_with(8);
  limits.numa_nodes = {{0, 1}, {2, 3}, {4, 5, 6, 7}};
  const std::vector<Finding> findings = judge_node_cores(place_with(8, 2), limits, Launcher::kMpirun);
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].text, "a rank's 4 cores lie on 2 NUMA nodes");
  EXPECT_THAT(judge_node_cores(place_with(8, 1), limits, Launcher::kMpirun),
              IsEmpty());  // a rank that has the node alone
}

}  // namespace
}  // namespace skyline::app
