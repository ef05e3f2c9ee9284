#include "launcher/options.hpp"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline::launcher {
namespace {

using ::testing::ElementsAre;

struct Read {
  Options options;
  std::string problem;
  std::vector<std::string> program;
};

Read read(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "skyline-launch");
  std::vector<char*> pointers;
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  Read result;
  result.problem = read_options(static_cast<int>(arguments.size()), pointers.data(), result.options);
  for (char** word = result.options.program; word != nullptr && *word != nullptr; ++word) {
    result.program.emplace_back(*word);
  }
  return result;
}

TEST(LauncherOptionsTest, EveryOptionIsRead) {
  const Read all =
      read({"grace_ms=5", "log_limit=6", "memory=7", "processes=8", "open_files=9", "reports=1", "holds=1",
            "serves=1", "adopt=77", "processors=0,12", "folder=/a=b", "--", "x", "--", "y=1"});
  EXPECT_EQ(all.problem, "");
  EXPECT_TRUE(all.options.holds);
  EXPECT_TRUE(all.options.serves);
  EXPECT_EQ(all.options.adopt, 77U);
  EXPECT_EQ(all.options.grace_ms, 5U);
  EXPECT_EQ(all.options.log_limit, 6U);
  EXPECT_EQ(all.options.memory, 7U);
  EXPECT_EQ(all.options.processes, 8U);
  EXPECT_EQ(all.options.open_files, 9U);
  EXPECT_TRUE(all.options.reports);
  EXPECT_EQ(all.options.folder, "/a=b");
  EXPECT_THAT(all.options.processors, ElementsAre(0, 12));
  EXPECT_THAT(all.program, ElementsAre("x", "--", "y=1"));
}

TEST(LauncherOptionsTest, WhatIsWrongIsNamed) {
  for (const char* wrong : {"grace_ms=", "grace_ms=-1", "grace_ms=1x", "memory", "reports=2", "adopt=-1",
                            "processors=", "processors=1,", "other=1", "memory=99999999999999999999"}) {
    EXPECT_EQ(read({wrong, "--", "x"}).problem, std::string("unknown option ") + wrong);
  }
  EXPECT_EQ(read({"memory=1"}).problem, "no -- before the program");
  EXPECT_EQ(read({"--"}).problem, "no program after --");
}

}  // namespace
}  // namespace skyline::launcher
