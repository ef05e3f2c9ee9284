#include "launcher/control_group.hpp"

#include "launcher/system_text.hpp"
#include "machine/fake_system.hpp"

#include <filesystem>
#include <iterator>
#include <string>

#include <gtest/gtest.h>

namespace skyline::launcher {
namespace {

namespace fs = std::filesystem;

constexpr const char* kUnit = "sys/fs/cgroup/unit";

/// Has the files of version 2, with this process in the groups that are given.
void write_groups(machine::testing::FakeSystem& system, const std::string& own_groups) {
  system.write("proc/self/cgroup", own_groups);
  system.write(std::string(kUnit) + "/cgroup.procs", "");
  system.write(std::string(kUnit) + "/cgroup.subtree_control", "");
  system.write(std::string(kUnit) + "/job/cgroup.procs", "");
}

bool is_untouched(const machine::testing::FakeSystem& system) {
  const fs::path unit = system.root() / kUnit;
  return read_text(unit / "cgroup.subtree_control", 100) == "\n" &&
         std::distance(fs::directory_iterator(unit), fs::directory_iterator()) == 3;
}

const Options kLimited{.memory = 1000, .processes = 5};

// What a kernel does with a group is seen by scripts/rigs/control_groups.

TEST(ControlGroupTest, AGroupThatWasNotDelegatedIsLeftAlone) {
  machine::testing::FakeSystem system;
  write_groups(system, "4:memory:/\n0::/unit/job\n");
  EXPECT_FALSE(ControlGroup::make(kLimited, system.root()));
  EXPECT_TRUE(is_untouched(system));
}

TEST(ControlGroupTest, ThereIsNoneWithoutVersion2OrOutsideOfTheNamespace) {
  for (const char* groups : {"", "4:memory:/unit/job\n", "0::/../unit/job\n", "0::/\n"}) {
    machine::testing::FakeSystem system;
    write_groups(system, groups);
    EXPECT_FALSE(ControlGroup::make(kLimited, system.root())) << groups;
    EXPECT_TRUE(is_untouched(system)) << groups;
  }
}

TEST(ControlGroupTest, WithoutLimitsThereIsNone) {
  machine::testing::FakeSystem system;
  write_groups(system, "0::/unit/job\n");
  EXPECT_FALSE(ControlGroup::make({}, system.root()));
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

}  // namespace
}  // namespace skyline::launcher
