#include "core/system/control_groups.hpp"
#include "machine/node.hpp"
#include "support/fake_system.hpp"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

namespace skyline::machine {
namespace {

using ::testing::ElementsAre;
using testing::FakeSystem;
using ::testing::IsEmpty;
using ::testing::Optional;

TEST(NodeLimits, ReadsTheTightestControlGroupOfThoseAboveTheProcess) {
  FakeSystem system;
  system.write("proc/self/cgroup", "0::/job/step\n");
  system.write("sys/fs/cgroup/cpu.max", "max 100000\n");
  system.write("sys/fs/cgroup/job/cpu.max", "150000 100000\n");
  system.write("sys/fs/cgroup/job/memory.max", "4000000000\n");
  system.write("sys/fs/cgroup/job/step/cpu.max", "800000 100000\n");
  system.write("sys/fs/cgroup/job/step/memory.max", "max\n");
  system.write("sys/fs/cgroup/job/cpuset.cpus.effective", "2-3\n");
  const NodeLimits limits = read_node_limits(system.root());
  EXPECT_THAT(limits.processor_quota, Optional(1.5));
  EXPECT_THAT(limits.memory_bytes, Optional(4000000000U));
  EXPECT_THAT(limits.processors, ElementsAre(2, 3));
}

TEST(NodeLimits, ReadsTheFirstVersionOfControlGroups) {
  FakeSystem system;
  system.write("proc/self/cgroup", "5:cpu,cpuacct:/docker/a1\n4:memory:/docker/a1\n3:cpuset:/docker/a1\n");
  system.write("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "200000\n");  // a container sees its own as the topmost
  system.write("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  system.write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  system.write("sys/fs/cgroup/cpuset/docker/a1/cpuset.effective_cpus", "0,4\n");
  const NodeLimits limits = read_node_limits(system.root());
  EXPECT_THAT(limits.processor_quota, Optional(2.0));
  EXPECT_EQ(limits.memory_bytes, std::nullopt);
  EXPECT_THAT(limits.processors, ElementsAre(0, 4));
}

TEST(ControlGroups, HaveTheProcessesOfTheControlGroupThatHasTheFewestLeft) {
  FakeSystem system;
  system.write("proc/self/cgroup", "0::/job/step\n");
  system.write("sys/fs/cgroup/job/pids.max", "100\n");
  system.write("sys/fs/cgroup/job/pids.current", "96\n");
  system.write("sys/fs/cgroup/job/step/pids.max", "20\n");
  system.write("sys/fs/cgroup/job/step/pids.current", "3\n");
  std::optional<ProcessLimit> limit = process_limit_of_groups(system.root());
  ASSERT_TRUE(limit);
  EXPECT_EQ(limit->most, 100U);
  EXPECT_EQ(limit->left(), 4U);
  system.write("sys/fs/cgroup/job/pids.max", "max\n");
  limit = process_limit_of_groups(system.root());
  ASSERT_TRUE(limit);
  EXPECT_EQ(limit->left(), 17U);
  system.write("sys/fs/cgroup/job/step/pids.max", "max\n");
  EXPECT_FALSE(process_limit_of_groups(system.root()));
}

TEST(ControlGroups, HaveTheProcessesOfTheFirstVersionOfControlGroups) {
  FakeSystem system;
  system.write("proc/self/cgroup", "9:pids:/docker/a1\n4:memory:/docker/a1\n");
  system.write("sys/fs/cgroup/pids/pids.max", "6\n");  // a container sees its own as the topmost
  system.write("sys/fs/cgroup/pids/pids.current", "7\n");
  const std::optional<ProcessLimit> limit = process_limit_of_groups(system.root());
  ASSERT_TRUE(limit);
  EXPECT_EQ(limit->most, 6U);
  EXPECT_EQ(limit->left(), 0U);
}

TEST(OomKillsFile, IsOfTheInnermostControlGroupWithALimitWhichTasksOfAStepShare) {
  FakeSystem system;
  system.write("proc/self/cgroup", "0::/job/step/task_0\n");
  for (const char* group : {"job", "job/step", "job/step/task_0"}) {
    const std::string folder = std::string("sys/fs/cgroup/") + group;
    system.write(folder + "/memory.events", "oom 0\noom_kill 0\n");
    system.write(folder + "/memory.max", "max\n");
  }
  EXPECT_EQ(oom_kills_file(system.root()), system.root() / "sys/fs/cgroup/job/step/task_0/memory.events");
  system.write("sys/fs/cgroup/job/memory.max", "8000000000\n");
  EXPECT_EQ(oom_kills_file(system.root()), system.root() / "sys/fs/cgroup/job/memory.events");
  system.write("sys/fs/cgroup/job/step/memory.max", "4000000000\n");
  EXPECT_EQ(oom_kills_file(system.root()), system.root() / "sys/fs/cgroup/job/step/memory.events");
}

TEST(OomKillsFile, IsKnownForTheFirstVersionOfControlGroupsAndForAMachineWithoutAny) {
  FakeSystem system;
  system.write("proc/self/cgroup", "4:memory:/docker/a1\n0::/\n");
  EXPECT_EQ(oom_kills_file(system.root()), system.root() / "proc/vmstat");
  system.write("sys/fs/cgroup/memory/memory.oom_control", "under_oom 0\noom_kill 0\n");
  EXPECT_EQ(oom_kills_file(system.root()), system.root() / "sys/fs/cgroup/memory/memory.oom_control");
}

TEST(NodeLimits, KnowsNoLimitWhereNoneIsSet) {
  FakeSystem system;
  system.write("proc/self/cgroup", "4:cpu:/\n0::/\n");
  system.write("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
  system.write("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  system.write("sys/devices/system/cpu/online", "0-7\n");
  const NodeLimits limits = read_node_limits(system.root());
  EXPECT_EQ(limits.processor_quota, std::nullopt);
  EXPECT_EQ(limits.memory_bytes, std::nullopt);
  EXPECT_EQ(limits.shared_memory_bytes, std::nullopt);
  EXPECT_EQ(limits.processors.size(), 8U);
  EXPECT_THAT(limits.numa_nodes, IsEmpty());
}

TEST(NodeLimits, ReadsMemoryAndNumaNodes) {
  FakeSystem system;
  system.write("proc/meminfo", "MemTotal:  9000 kB\nMemAvailable:    1000 kB\n");
  system.write("sys/devices/system/node/node0/cpulist", "0-1\n");
  system.write("sys/devices/system/node/node1/cpulist", "2-3\n");
  system.write("sys/devices/system/node/online", "0-1\n");
  system.write("dev/shm/nothing", "");
  const NodeLimits limits = read_node_limits(system.root());
  EXPECT_THAT(limits.memory_free_bytes, Optional(1024000U));
  EXPECT_THAT(limits.numa_nodes, ElementsAre(ElementsAre(0, 1), ElementsAre(2, 3)));
  EXPECT_GT(limits.shared_memory_bytes, 0U);
}

TEST(ProcessorModel, IsTheNameThatTheSystemTellsOrElseTheKindOfMachine) {
  FakeSystem system;
  EXPECT_THAT(processor_model(system.root()), ::testing::AnyOf("x86_64", "aarch64"));
  system.write("proc/cpuinfo",
               "processor\t: 0\nmodel\t\t: 1\nmodel name\t: AMD EPYC 7763 64-Core Processor\n");
  EXPECT_EQ(processor_model(system.root()), "AMD EPYC 7763 64-Core Processor");
}

TEST(NodeLimits, AsksForTheLimitsOfThisProcess) {
  struct rlimit before {};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const struct rlimit lower = {before.rlim_cur - 1, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &lower), 0);
  EXPECT_THAT(read_node_limits("/").open_files, Optional(before.rlim_cur - 1));
  EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
}

}  // namespace
}  // namespace skyline::machine
