#include "comm/launcher.hpp"

#include "support/user_error_of.hpp"

#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline::comm {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

using Variables = std::map<std::string, std::string>;

constexpr double kNow = 1.7e9;
const std::string kLibrary = "Open MPI 4.1.4";

VariableLookup lookup_in(const Variables& variables) {
  return [&](const char* name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  };
}

Launch launch_with(const Variables& variables) {
  return read_launch(lookup_in(variables));
}

/// The line of a start with these variables. @param more  on top of them
std::string line_of(Variables variables, const std::vector<NodeRanks>& nodes, const Variables& more = {}) {
  variables.insert(more.begin(), more.end());
  return describe_start(launch_with(variables), kLibrary, nodes, kNow);
}

const Variables kMpirun{{"OMPI_COMM_WORLD_SIZE", "16"},
                        {"OMPI_COMM_WORLD_RANK", "3"},
                        {"PMIX_RANK", "3"},
                        {"PMIX_NAMESPACE", "812.0"}};
const Variables kSrun{{"PMIX_RANK", "3"},           {"PMIX_NAMESPACE", "slurm.pmix.812.0"},
                      {"SLURM_PROCID", "3"},        {"SLURM_STEP_NUM_TASKS", "16"},
                      {"SLURM_JOB_ID", "812"},      {"SLURM_STEP_NODELIST", "node[07-08]"},
                      {"SLURM_JOB_NUM_NODES", "2"}, {"SLURM_JOB_NODELIST", "node[07-08]"}};
/// In a job; mpirun's ranks have the variables of the batch script, or of the step of its daemons.
const Variables kSlurmScript{{"SLURM_JOB_ID", "812"},           {"SLURM_PROCID", "0"},
                             {"SLURM_JOB_NUM_NODES", "2"},      {"SLURM_JOB_NODELIST", "node[07-08]"},
                             {"SLURM_STEP_NODELIST", "node08"}, {"SLURM_STEP_NUM_TASKS", "1"}};
const std::vector<NodeRanks> kTwoNodes{{"node07", 8}, {"node08", 8}};

TEST(Launch, IsNoneWithoutVariables) {
  const Launch launch = launch_with({});
  EXPECT_EQ(launch.launcher, Launcher::kNone);
  EXPECT_EQ(launch.batch, BatchSystem::kNone);
  EXPECT_FALSE(launch.ranks);
  EXPECT_EQ(describe_start(launch, "", {}, kNow), "one process, no MPI");
}

TEST(Launch, KnowsTheRanksOfItsGroup) {
  EXPECT_EQ(rank_in_group(lookup_in(kMpirun), launch_with(kMpirun).group), 3);
  EXPECT_EQ(rank_in_group(lookup_in(kSrun), launch_with(kSrun).group), 3);
  EXPECT_EQ(rank_in_group(lookup_in(kSrun), launch_with(kMpirun).group), std::nullopt);
  EXPECT_EQ(rank_in_group(lookup_in({}), launch_with({}).group), std::nullopt);
}

TEST(Launch, ByMpirunTellsRankAndRanks) {
  const Launch launch = launch_with(kMpirun);
  EXPECT_EQ(launch.launcher, Launcher::kMpirun);
  EXPECT_EQ(launch.rank, 3);
  EXPECT_EQ(launch.ranks, 16);
  EXPECT_EQ(launch.group, "812.0");
  EXPECT_EQ(line_of(kMpirun, {{"node07", 16}}), "mpirun, Open MPI 4.1.4: 16 ranks on 1 node (node07)");
}

TEST(Launch, ByMpirunTellsWhetherSurvivorsLive) {
  EXPECT_FALSE(launch_with(kMpirun).survivors_live);
  for (const char* name : {"OMPI_MCA_orte_enable_recovery", "OMPI_MCA_mpi_ft_enable"}) {
    Variables variables = kMpirun;
    for (const char* word : {"1", "2", " 1", "true", "t", "yes", "y", "enabled"}) {
      variables[name] = word;
      EXPECT_TRUE(launch_with(variables).survivors_live) << name << ' ' << word;
    }
    for (const char* word : {"0", "false", "TRUE", "Yes", ""}) {
      variables[name] = word;
      EXPECT_FALSE(launch_with(variables).survivors_live) << name << ' ' << word;
    }
  }
}

TEST(Launch, BySrunInAnArrayThatWasRequeued) {
  EXPECT_EQ(
      line_of(kSrun, kTwoNodes,
              {{"SLURM_ARRAY_JOB_ID", "810"},
               {"SLURM_ARRAY_TASK_ID", "3"},
               {"SLURM_RESTART_COUNT", "1"},
               {"SLURM_JOB_END_TIME", "1700014350"}}),
      "Slurm job 810 (task 3, restart 1) by srun, Open MPI 4.1.4: 16 ranks on 2 nodes (node07, node08), "
      "8 a node; 3:59:10 left");
  EXPECT_EQ(launch_with(kSrun).rank, 3);
  EXPECT_EQ(launch_with(kSrun).ranks, 16);
}

TEST(Launch, ByMpirunInASlurmJobIsBoth) {
  Variables variables = kSlurmScript;
  variables.insert(kMpirun.begin(), kMpirun.end());
  const Launch launch = launch_with(variables);
  EXPECT_EQ(launch.launcher, Launcher::kMpirun);
  EXPECT_EQ(launch.batch, BatchSystem::kSlurm);
  EXPECT_THAT(launch.hosts, ElementsAre("node07", "node08")) << "not those of the daemons' step";
  EXPECT_EQ(line_of(variables, kTwoNodes),
            "Slurm job 812 by mpirun, Open MPI 4.1.4: 16 ranks on 2 nodes (node07, node08), 8 a node; time "
            "left unknown");
}

TEST(Launch, OnAzureMlIsByMpirunWithTheRunsName) {
  EXPECT_EQ(
      line_of(kMpirun, kTwoNodes,
              {{"AZUREML_RUN_ID", "brave_sky_12"}, {"AZUREML_NODE_COUNT", "2"}, {"AZ_BATCH_POOL_ID", "p"}}),
      "Azure ML run brave_sky_12 by mpirun, Open MPI 4.1.4: 16 ranks on 2 nodes (node07, node08), 8 a "
      "node; time left unknown");
  for (const char* name : {"AZ_BATCH_POOL_ID", "AZ_BATCH_MASTER_NODE", "AZ_BATCHAI_MPI_MASTER_NODE"}) {
    EXPECT_THAT(line_of(kMpirun, kTwoNodes, {{name, "x"}}), HasSubstr("Azure ML run by mpirun, ")) << name;
  }
}

TEST(Launch, KnowsPbsAndLsfByName) {
  EXPECT_THAT(line_of(kMpirun, kTwoNodes, {{"PBS_JOBID", "17.server"}, {"PBS_ARRAY_INDEX", "2"}}),
              HasSubstr("PBS job 17.server (task 2) by mpirun, "));
  EXPECT_THAT(line_of(kMpirun, kTwoNodes, {{"LSB_JOBID", "99"}, {"LSB_JOBINDEX", "0"}}),
              HasSubstr("LSF job 99 by mpirun, "));
  EXPECT_THAT(line_of(kMpirun, kTwoNodes, {{"LSB_JOBID", "99"}, {"LSB_JOBINDEX", "4"}}),
              HasSubstr("LSF job 99 (task 4) by mpirun, "));
}

TEST(Launch, ByAnotherLibrarysLauncherIsNotTakenForSrun) {
  const Launch launch = launch_with({{"PMI_RANK", "1"}, {"PMI_SIZE", "4"}});
  EXPECT_EQ(launch.launcher, Launcher::kOther);
  EXPECT_EQ(launch.rank, 1);
  EXPECT_EQ(launch.ranks, 4);
}

TEST(Launch, OfOneProcessInABatchJobNamesTheJob) {
  const Launch launch = launch_with(kSlurmScript);
  EXPECT_EQ(launch.launcher, Launcher::kNone);
  EXPECT_EQ(describe_start(launch, "", {}, kNow), "Slurm job 812: one process, no MPI; time left unknown");
}

TEST(Launch, BySrunWithoutMpiIsRefusedAsManySearches) {
  const std::string error = testing::user_error_of([] {
    launch_with({{"SLURM_PROCID", "1"}, {"SLURM_STEP_NUM_TASKS", "4"}, {"SLURM_JOB_ID", "812"}});
  });
  EXPECT_THAT(error, HasSubstr("srun started 4 processes without MPI"));
  EXPECT_THAT(error, HasSubstr("srun --mpi=pmix"));
}

TEST(Launch, TakesNumbersThatAreNoneAsNotTold) {
  const Launch launch = launch_with({{"OMPI_COMM_WORLD_SIZE", "many"},
                                     {"OMPI_COMM_WORLD_RANK", "-1"},
                                     {"SLURM_JOB_ID", "812"},
                                     {"SLURM_RESTART_COUNT", ""},
                                     {"SLURM_JOB_NODELIST", "node[07-"}});
  EXPECT_EQ(launch.launcher, Launcher::kMpirun);
  EXPECT_FALSE(launch.ranks);
  EXPECT_FALSE(launch.rank);
  EXPECT_EQ(launch.restarts, 0);
  EXPECT_THAT(launch.hosts, IsEmpty());
}

TEST(SecondsLeft, AreThoseUntilAFutureEnd) {
  EXPECT_EQ(seconds_left({.job_end = "1700000100"}, kNow), 100);
  EXPECT_FALSE(seconds_left({}, kNow));
  for (const char* text : {"tomorrow", "", "1600000000", "-5"}) {
    EXPECT_FALSE(seconds_left({.job_end = text}, kNow)) << text;
  }
}

TEST(DescribeStart, WritesLongTimesInDays) {
  EXPECT_THAT(line_of(kMpirun, kTwoNodes, {{"SLURM_JOB_END_TIME", "1700100750"}}),
              HasSubstr("; 1-03:59:10 left"));
  EXPECT_THAT(line_of(kMpirun, kTwoNodes, {{"SLURM_JOB_END_TIME", "1700000059"}}),
              HasSubstr("; 0:00:59 left"));
}

TEST(DescribeStart, SaysWhereNodesHaveOtherCountsOfRanks) {
  EXPECT_THAT(line_of(kMpirun, {{"a", 8}, {"b", 4}, {"c", 8}}),
              HasSubstr("20 ranks on 3 nodes (a, b, c), 8 a node, but 4 on b"));
  EXPECT_THAT(line_of(kMpirun, {{"a", 8}, {"b", 4}, {"c", 8}, {"d", 1}, {"e", 4}}),
              HasSubstr("25 ranks on 5 nodes (a, b, c and 2 more), 4 a node, but 1 on d and 8 on a, c"));
}

TEST(DescribeStart, SaysThatNodesOfTheJobHaveNoRanks) {
  EXPECT_THAT(line_of(kMpirun, kTwoNodes, {{"SLURM_JOB_ID", "1"}, {"SLURM_JOB_NUM_NODES", "4"}}),
              HasSubstr("16 ranks on 2 of the job's 4 nodes (node07, node08), 8 a node"));
  EXPECT_THAT(
      line_of(kMpirun, {{"node07.site.org", 8}, {"node08.site.org", 8}},
              {{"SLURM_JOB_ID", "1"}, {"SLURM_JOB_NUM_NODES", "4"}, {"SLURM_JOB_NODELIST", "node[07-10]"}}),
      HasSubstr("16 ranks on 2 of the job's 4 nodes (node07.site.org, node08.site.org; none on node09, "
                "node10), 8 a node"));
}

TEST(ExpandHostList, ReadsRangesListsAndSeveralBrackets) {
  EXPECT_THAT(expand_host_list("n[01-03,7],login"), ElementsAre("n01", "n02", "n03", "n7", "login"));
  EXPECT_THAT(expand_host_list("gpu[9-10]-ib"), ElementsAre("gpu9-ib", "gpu10-ib"));
  EXPECT_THAT(expand_host_list("r[0-1]n[1-2]"), ElementsAre("r0n1", "r0n2", "r1n1", "r1n2"));
  EXPECT_THAT(expand_host_list("h1"), ElementsAre("h1"));
  EXPECT_THAT(expand_host_list("n[098-101]"), ElementsAre("n098", "n099", "n100", "n101"));
  EXPECT_THAT(expand_host_list("n[0-4095]"), SizeIs(4096));
}

TEST(ExpandHostList, IsEmptyForWhatIsNoList) {
  for (const char* text : {"", "n[", "n[1", "n[]", "n[a-b]", "n[3-1]", "n[1-]", "n[1,]", "n,,m", ",n",
                           "n[0-999999999]", "n[0-9999]m[0-9999]", "n[1-99999999999999999999]"}) {
    EXPECT_THAT(expand_host_list(text), IsEmpty()) << text;
  }
}

}  // namespace
}  // namespace skyline::comm
