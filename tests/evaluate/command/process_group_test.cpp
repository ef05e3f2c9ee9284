#include "evaluate/command/process_group.hpp"

#include "evaluate/process/trainer_variables.hpp"

#include <gmock/gmock.h>

namespace skyline::evaluate {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

const Rendezvous kRendezvous{{{"10.0.0.1", 20001}, {"10.0.0.1", 20002}, {"10.0.0.2", 20003}}};

CommandOptions grouped(CommandLaunch launch, CommandFramework framework) {
  CommandOptions options;
  options.processes = 3;
  options.launch = launch;
  options.framework = framework;
  return options;
}

TEST(ProcessGroup, NumbersProcessesOnEachNode) {
  const std::vector<ProcessPlace> places = process_places({7, 7, 2});
  EXPECT_EQ(places[0], (ProcessPlace{0, 3, 0, 2, 0, 2}));
  EXPECT_EQ(places[1], (ProcessPlace{1, 3, 1, 2, 0, 2}));
  EXPECT_EQ(places[2], (ProcessPlace{2, 3, 0, 1, 1, 2}));
}

TEST(ProcessGroup, NumbersProcessesOfNodesThatAlternate) {
  const std::vector<ProcessPlace> places = process_places({0, 1, 0, 1});
  EXPECT_EQ(places[2], (ProcessPlace{2, 4, 1, 2, 0, 2}));
  EXPECT_EQ(places[3], (ProcessPlace{3, 4, 1, 2, 1, 2}));
}

TEST(ProcessGroup, TellsATrainerAloneNothing) {
  EXPECT_THAT(group_variables({}, {}, {}), IsEmpty());
}

TEST(ProcessGroup, SetsTheVariablesOfTorch) {
  const auto options = grouped(CommandLaunch::kProcess, CommandFramework::kTorch);
  EXPECT_THAT(group_variables(options, process_places({7, 7, 2})[1], kRendezvous),
              UnorderedElementsAre(Pair("MASTER_ADDR", "10.0.0.1"), Pair("MASTER_PORT", "20001"),
                                   Pair("RANK", "1"), Pair("WORLD_SIZE", "3"), Pair("LOCAL_RANK", "1"),
                                   Pair("LOCAL_WORLD_SIZE", "2"), Pair("NODE_RANK", "0")));
}

TEST(ProcessGroup, SetsTheNamesOfAzureBesides) {
  const auto options = grouped(CommandLaunch::kProcess, CommandFramework::kAzure);
  EXPECT_THAT(
      group_variables(options, process_places({7, 7, 2})[2], kRendezvous),
      UnorderedElementsAre(
          Pair("MASTER_ADDR", "10.0.0.1"), Pair("MASTER_PORT", "20001"), Pair("RANK", "2"),
          Pair("WORLD_SIZE", "3"), Pair("LOCAL_RANK", "0"), Pair("LOCAL_WORLD_SIZE", "1"),
          Pair("NODE_RANK", "1"), Pair("OMPI_COMM_WORLD_RANK", "2"), Pair("OMPI_COMM_WORLD_SIZE", "3"),
          Pair("OMPI_COMM_WORLD_LOCAL_RANK", "0"), Pair("OMPI_COMM_WORLD_LOCAL_SIZE", "1"),
          Pair("AZ_BATCH_MASTER_NODE", "10.0.0.1:20001"), Pair("AZ_BATCHAI_MPI_MASTER_NODE", "10.0.0.1")));
}

TEST(ProcessGroup, DescribesTheClusterForTensorflow) {
  auto options = grouped(CommandLaunch::kProcess, CommandFramework::kTensorflow);
  const auto places = process_places({7, 7, 2});
  EXPECT_THAT(
      group_variables(options, places[2], kRendezvous),
      ElementsAre(Pair("TF_CONFIG",
                       R"({"cluster":{"worker":["10.0.0.1:20001","10.0.0.1:20002","10.0.0.2:20003"]},)"
                       R"("task":{"type":"worker","index":2},"environment":"cloud"})")));
  options.parameter_servers = 1;
  EXPECT_THAT(
      group_variables(options, places[0], kRendezvous),
      ElementsAre(Pair("TF_CONFIG",
                       R"({"cluster":{"ps":["10.0.0.1:20001"],"worker":["10.0.0.1:20002","10.0.0.2:20003"]},)"
                       R"("task":{"type":"ps","index":0},"environment":"cloud"})")));
}

TEST(ProcessGroup, LeavesToALauncherOfEachNodeWhatItSetsItself) {
  const auto options = grouped(CommandLaunch::kNode, CommandFramework::kTorch);
  EXPECT_THAT(group_variables(options, process_places({7, 7, 2})[2], kRendezvous),
              UnorderedElementsAre(Pair("MASTER_ADDR", "10.0.0.1"), Pair("MASTER_PORT", "20001"),
                                   Pair("NODE_RANK", "1")));
  EXPECT_TRUE(is_set_for_trainer(options, "LOCAL_RANK")) << "it must not exist";
}

TEST(ProcessGroup, LeavesAllToAnMpirunOfItsOwn) {
  EXPECT_THAT(group_variables(grouped(CommandLaunch::kMpirun, CommandFramework::kMpi), {}, kRendezvous),
              IsEmpty());
}

TEST(ProcessGroup, LetsTheUserSetAllVariablesThatItDoesNotSet) {
  const auto torch = grouped(CommandLaunch::kProcess, CommandFramework::kTorch);
  EXPECT_TRUE(is_set_for_trainer(torch, "MASTER_PORT"));
  EXPECT_FALSE(is_set_for_trainer(torch, "TF_CONFIG"));
  EXPECT_FALSE(is_set_for_trainer({}, "MASTER_PORT"));
  EXPECT_TRUE(is_set_for_trainer({}, "SKYLINE_REPORT_FD"));
}

TEST(TrainerVariables, LetNothingOfTheLauncherThrough) {
  const Variables all{{"PATH", "/bin"},
                      {"LC_ALL", "C"},
                      {"NCCL_DEBUG", "INFO"},
                      {"SLURM_CONF", "/etc/s"},
                      {"SLURM_PROCID", "1"},
                      {"OMPI_COMM_WORLD_RANK", "1"},
                      {"PMIX_RANK", "1"},
                      {"PMI_SIZE", "2"},
                      {"PRTE_MCA_x", "1"},
                      {"MPI_LOCALRANKID", "0"},
                      {"SECRET", "s"},
                      {"WANTED", "w"},
                      {"CUDA_VISIBLE_DEVICES", ""},
                      {"LOCAL_RANK", "3"},
                      {"HFI_NO_BACKTRACE", "1"}};
  EXPECT_THAT(allowed_variables(all, {"WANTED"}),
              UnorderedElementsAre(Pair("PATH", "/bin"), Pair("LC_ALL", "C"), Pair("NCCL_DEBUG", "INFO"),
                                   Pair("SLURM_CONF", "/etc/s"), Pair("WANTED", "w")));
}

TEST(TrainerVariables, KnowWhatALauncherSets) {
  for (const char* name :
       {"OMPI_MCA_pmix", "PMIX_NAMESPACE", "PRTE_MCA_x", "PMI_RANK", "SLURM_PROCID", "MPIEXEC"}) {
    EXPECT_TRUE(is_of_launcher(name)) << name;
  }
  for (const char* name : {"SLURM_CONF", "PATH", "MY_TOKEN"}) EXPECT_FALSE(is_of_launcher(name)) << name;
}

}  // namespace
}  // namespace skyline::evaluate
