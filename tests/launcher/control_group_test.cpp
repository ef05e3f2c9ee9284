#include "launcher/program_limits.hpp"
#include "launcher/system_text.hpp"
#include "support/fake_system.hpp"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <string>
#include <utility>

#include <gtest/gtest.h>
#include <sys/xattr.h>

namespace skyline::launcher {
namespace {

namespace fs = std::filesystem;

constexpr const char* kUnit = "sys/fs/cgroup/unit";

/// A system with a group that was delegated to the job, in whose subgroup this process stands.
class ControlGroupTest : public ::testing::Test {
 protected:
  void SetUp() override {
    stand_in("4:memory:/\n0::/unit/job\n");
    for (const char* file : {"/cgroup.procs", "/cgroup.subtree_control", "/job/cgroup.procs"}) {
      system_.write(kUnit + std::string(file), "");
    }
    ASSERT_EQ(::setxattr(unit_.c_str(), "user.delegate", "1", 1, 0), 0) << std::strerror(errno);
  }
  void stand_in(const std::string& groups) { system_.write("proc/self/cgroup", groups); }
  /// Returns whether a group could be made, up to its limits: files have none.
  bool would_be_made(const Options& options = {.memory = 1000, .processes = 5}) {
    system_.write(kUnit + std::string("/cgroup.subtree_control"), "");
    EXPECT_FALSE(ControlGroup::make(options, system_.root()));
    EXPECT_EQ(std::distance(fs::directory_iterator(unit_), fs::directory_iterator()), 3) << "a group stays";
    return read_text(unit_ / "cgroup.subtree_control", 100) == "+memory +pids";
  }

  machine::testing::FakeSystem system_;
  fs::path unit_ = system_.root() / kUnit;
};

// What a kernel does with a group is seen by scripts/rigs/control_groups.

TEST_F(ControlGroupTest, StandsBesideTheGroupOfTheJob) {
  EXPECT_TRUE(would_be_made());
}

TEST_F(ControlGroupTest, IsNotMadeWithoutLimits) {
  EXPECT_FALSE(would_be_made({}));
}

TEST_F(ControlGroupTest, IsNotMadeInAGroupThatWasNotDelegated) {
  for (const char* value : {"0", "10"}) {
    ASSERT_EQ(::setxattr(unit_.c_str(), "user.delegate", value, std::strlen(value), 0), 0);
    EXPECT_FALSE(would_be_made()) << value;
  }
  ASSERT_EQ(::removexattr(unit_.c_str(), "user.delegate"), 0);
  EXPECT_FALSE(would_be_made());
}

TEST_F(ControlGroupTest, IsNotMadeWithoutVersion2NorWhereTheParentBelongsToOthers) {
  for (const char* groups :
       {"", "4:memory:/unit/job\n", "0::/../unit/job\n", "0::/\n", "0::/unit/\n", "0::/unit/a.scope\n",
        "0::/unit/a.service\n", "0::/unit/a.slice\n", "0::/unit/skyline-Ab12Cd\n"}) {
    stand_in(groups);
    EXPECT_FALSE(would_be_made()) << groups;
  }
}

TEST_F(ControlGroupTest, IsNotMadeWhereTheJobHasLimitsThatItWouldLeave) {
  for (const char* limit : {"/job/memory.max", "/job/pids.max"}) {
    system_.write(kUnit + std::string(limit), "max");
    EXPECT_TRUE(would_be_made()) << limit;
    system_.write(kUnit + std::string(limit), "100000");
    EXPECT_FALSE(would_be_made()) << limit;
    system_.write(kUnit + std::string(limit), "max");
  }
}

TEST(SystemTextTest, CountsAreFoundByTheirWholeName) {
  const std::string events = "low 0\nmax 17\noom 3\noom_kill 2\noom_group_kill 1\n";
  EXPECT_EQ(count_in(events, "low"), 0U);
  EXPECT_EQ(count_in(events, "max"), 17U);
  EXPECT_EQ(count_in(events, "oom"), 3U);
  EXPECT_EQ(count_in(events, "oom_kill"), 2U);
  EXPECT_EQ(count_in(events, "kill"), 0U);
  EXPECT_EQ(count_in("", "oom"), 0U);
}

TEST(SystemTextTest, FilesThatAreThereAreWrittenAndReadAsFarAsWanted) {
  machine::testing::FakeSystem system;
  system.write("file", "");
  const std::string path = system.root() / "file";
  EXPECT_TRUE(write_text(path, "12345"));
  EXPECT_EQ(read_text(path, 3), "123");
  EXPECT_EQ(read_text(path, 10), "12345");
  EXPECT_FALSE(write_text(path + ".none", "12345"));
  EXPECT_EQ(read_text(path + ".none", 10), "");
}

TEST_F(ControlGroupTest, KillsForLackOfMemoryAreCountedByTheSystemAndByEachVersionOfGroups) {
  stand_in("4:memory:/old\n0::/unit/job\n");
  auto grows = [&, before = std::uint64_t{0}]() mutable {
    return std::exchange(before, out_of_memory_kills(system_.root())) < before;
  };
  EXPECT_FALSE(grows());
  system_.write("proc/vmstat", "pgfault 5\noom_kill 1\n");
  EXPECT_TRUE(grows());
  system_.write(kUnit + std::string("/job/memory.events"), "oom 9\noom_kill 1\n");
  EXPECT_TRUE(grows());
  system_.write("sys/fs/cgroup/memory/old/memory.oom_control", "under_oom 0\noom_kill 1\n");
  EXPECT_TRUE(grows());
  EXPECT_FALSE(grows());
}

}  // namespace
}  // namespace skyline::launcher
