#include "app/doctor/doctor_checks.hpp"
#include "support/fake_system.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline::app {
namespace {

using machine::testing::FakePort;
using machine::testing::FakeSystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

/// Facts of a system with ports, without a limit on locked memory.
FabricFacts facts_of(const FakeSystem& system, int node_count) {
  machine::RankView node;
  node.ports = machine::read_fabric_ports(system.root());
  FabricFacts facts = read_fabric_facts(node, node_count, machine::NodeLimits{}, system.root());
  facts.mpi_components.clear();  // components of the build of this test
  return facts;
}

TEST(DoctorFabric, MissesAnAdapterAmongSeveralNodesAlone) {
  const FakeSystem system;
  const std::vector<Finding> one = judge_fabric(facts_of(system, 1));
  ASSERT_THAT(one, SizeIs(1));
  EXPECT_EQ(one[0].verdict, Verdict::kGood);
  EXPECT_EQ(one[0].text, "no InfiniBand");
  EXPECT_EQ(judge_fabric(facts_of(system, 2))[0].text, "no InfiniBand: nodes communicate by TCP");
}

TEST(DoctorFabric, NamesPortsThatCanBeUsed) {
  FakeSystem system;
  system.add(FakePort{.device = "mlx5_0", .verbs = "uverbs0"});
  const std::vector<Finding> findings = judge_fabric(facts_of(system, 2));
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].verdict, Verdict::kGood);
  EXPECT_EQ(findings[0].text, "InfiniBand mlx5_0 400 Gb/s active; firmware 28.39.2048");
}

TEST(DoctorFabric, SaysHowAContainerGetsAnAdapterThatItCannotOpen) {
  FakeSystem system;
  system.add(FakePort{.device = "mlx5_0", .verbs = "-uverbs0"});
  const std::vector<Finding> findings = judge_fabric(facts_of(system, 2));
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].verdict, Verdict::kWarning);
  EXPECT_THAT(findings[0].text, HasSubstr("but /dev/infiniband/uverbs0 cannot be opened"));
  EXPECT_THAT(findings[0].advice, HasSubstr("docker --device=/dev/infiniband"));
}

TEST(DoctorFabric, NotesANodeWithoutAnActivePort) {
  FakeSystem system;
  system.add(
      FakePort{.device = "mlx5_0", .state = "1: DOWN", .phys_state = "2: Polling", .verbs = "uverbs0"});
  const std::vector<Finding> findings = judge_fabric(facts_of(system, 2));
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].verdict, Verdict::kNote);
  EXPECT_EQ(findings[0].text, "InfiniBand mlx5_0 down (polling); firmware 28.39.2048");
}

TEST(DoctorFabric, WarnsOfALimitOnLockedMemoryWhereAnAdapterNeedsIt) {
  FakeSystem system;
  system.add(FakePort{.device = "mlx5_0", .verbs = "uverbs0"});
  FabricFacts facts = facts_of(system, 2);
  facts.locked_memory_bytes = 8'000'000;
  const std::vector<Finding> findings = judge_fabric(facts);
  ASSERT_THAT(findings, SizeIs(2));
  EXPECT_EQ(findings[1].verdict, Verdict::kWarning);
  EXPECT_EQ(findings[1].text, "a process may lock 8 MB of memory, adapters need more");
  EXPECT_THAT(findings[1].advice, HasSubstr("ulimit -l unlimited"));
  facts.node.ports.clear();
  EXPECT_THAT(judge_fabric(facts), SizeIs(1));
}

TEST(DoctorFabric, NotesGpusThatAdaptersCannotRead) {
  FakeSystem system;
  system.add(FakePort{.device = "mlx5_0", .verbs = "uverbs0"});
  FabricFacts facts = facts_of(system, 2);
  facts.node.devices = {{.identity = "0000:10:00.0", .name = "NVIDIA Test"}};
  ASSERT_THAT(judge_fabric(facts), SizeIs(2));
  EXPECT_THAT(judge_fabric(facts)[1].text, HasSubstr("nvidia_peermem is not loaded"));

  system.write("sys/module/nvidia_peermem/refcnt", "0\n");
  EXPECT_TRUE(facts_of(system, 2).direct_transfers);
  FakeSystem open_modules;
  open_modules.write("proc/driver/nvidia/version",
                     "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.65.06\n");
  EXPECT_TRUE(facts_of(open_modules, 2).direct_transfers);
}

TEST(DoctorFabric, ReadsWhatOpenMpiSendsByFromItsMaps) {
  const char* const maps =
      "7f00-7f01 r-xp 0 08:01 5 /usr/lib/openmpi/mca_pml_ob1.so\n"
      "7f01-7f02 r--p 0 08:01 5 /usr/lib/openmpi/mca_pml_ob1.so\n"
      "7f02-7f03 r-xp 0 08:01 6 /usr/lib/openmpi/mca_btl_vader.so\n"
      "7f03-7f04 r-xp 0 08:01 7 /usr/lib/openmpi/mca_btl_self.so\n"
      "7f04-7f05 r-xp 0 08:01 8 /usr/lib/openmpi/mca_coll_basic.so\n"
      "7f05-7f06 r-xp 0 08:01 9 /usr/lib/openmpi/mca_btl_tcp.so\n";
  EXPECT_THAT(mpi_components(maps), ElementsAre("pml_ob1", "btl_vader", "btl_tcp"));
  EXPECT_THAT(mpi_components("7f00-7f01 r-xp 0 08:01 5 /usr/lib/libmpi.so.40\n"), IsEmpty());
}

TEST(DoctorFabric, NotesAnMpiThatLeavesTheAdaptersIdle) {
  FakeSystem system;
  system.add(FakePort{.device = "mlx5_0", .verbs = "uverbs0"});
  FabricFacts facts = facts_of(system, 2);
  facts.mpi_components = {"pml_ob1", "btl_vader", "btl_tcp"};
  ASSERT_THAT(judge_fabric(facts), SizeIs(2));
  EXPECT_EQ(judge_fabric(facts)[1].verdict, Verdict::kNote);
  EXPECT_EQ(judge_fabric(facts)[1].text,
            "sends by pml_ob1, btl_vader, btl_tcp: messages between nodes go by TCP, not by InfiniBand");
  facts.mpi_components = {"pml_ucx"};
  EXPECT_EQ(judge_fabric(facts)[1].verdict, Verdict::kGood);
}

}  // namespace
}  // namespace skyline::app
