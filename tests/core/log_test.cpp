#include "core/log.hpp"

#include "skyline/core/error.hpp"

#include "support/user_error_of.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace skyline {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;

class Log : public ::testing::Test {
 protected:
  Log() { std::filesystem::create_directories(folder_); }
  ~Log() override {
    log::stop();
    log::start({});
    std::filesystem::remove_all(folder_);
  }
  std::string file() const { return (folder_ / "run.log").string(); }
  std::vector<std::string> lines() const {
    std::ifstream stream(file());
    std::vector<std::string> result;
    for (std::string line; std::getline(stream, line);) result.push_back(line);
    return result;
  }

 private:
  std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / ("skyline_log_test_" + std::to_string(getpid()));
};

TEST_F(Log, FileLinesCarryDateLevelAndPrefix) {
  ::testing::internal::CaptureStderr();
  log::start({file(), "[rank 3 node07]", log::Level::kError});
  log::warning("slow disk");
  log::stop();
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
  ASSERT_EQ(lines().size(), 1U);
  EXPECT_THAT(lines()[0],
              MatchesRegex("[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9:.]+ warning \\[rank 3 node07\\] slow disk"));
}

TEST_F(Log, ShowsControlCharactersInsteadOfObeyingThem) {
  ::testing::internal::CaptureStderr();
  log::start({file(), "", log::Level::kInfo});
  log::info("told: \x1b[2J\n12:00:00 all is well");
  log::stop();
  EXPECT_THAT(::testing::internal::GetCapturedStderr(),
              HasSubstr("told: \\x1b[2J\\x0a12:00:00 all is well\n"));
  ASSERT_EQ(lines().size(), 1U);
  EXPECT_THAT(lines()[0], HasSubstr("told: \\x1b[2J\\x0a12:00:00 all is well"));
}

TEST_F(Log, TerminalLinesAreShortAndWithoutColourIfItIsNoTerminal) {
  ::testing::internal::CaptureStderr();
  log::start({"", "[rank 0]", log::Level::kInfo});
  log::debug("hidden");
  log::info("42 {} trials");
  log::error("gone");
  const std::string text = ::testing::internal::GetCapturedStderr();
  EXPECT_THAT(text,
              MatchesRegex("[0-9:]{8} \\[rank 0\\] 42 \\{\\} trials\n[0-9:]{8} \\[rank 0\\] error: gone\n"));
  EXPECT_THAT(text, Not(HasSubstr("\033")));
}

TEST_F(Log, AppendsToAFileThatIsThere) {
  log::start({file(), "", log::Level::kError});
  log::info("first");
  log::stop();
  log::start({file(), "", log::Level::kError});
  log::info("second");
  log::stop();
  log::info("third");
  EXPECT_EQ(lines().size(), 2U);
}

TEST_F(Log, AFullDiskIsToldOnceInOurWords) {
  ::testing::internal::CaptureStderr();
  log::start({"/dev/full", "", log::Level::kError});
  log::info("first");
  log::info("second");
  log::stop();
  const std::string text = ::testing::internal::GetCapturedStderr();
  EXPECT_THAT(text,
              MatchesRegex("[0-9:]{8} warning: /dev/full: lines of the log are lost: .*No space left on "
                           "device\n"));
}

TEST_F(Log, LinesOfSeveralThreadsStayWhole) {
  log::start({file(), "", log::Level::kError});
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([t] {
      for (int i = 0; i < 200; ++i) log::info(std::string(50, static_cast<char>('a' + t)));
    });
  }
  for (std::thread& thread : threads) thread.join();
  log::stop();
  const auto all = lines();
  EXPECT_EQ(all.size(), 800U);
  EXPECT_TRUE(std::all_of(all.begin(), all.end(), [](const std::string& line) {
    const std::string tail = line.substr(line.size() - 50);
    return tail == std::string(50, tail[0]);
  }));
}

TEST_F(Log, RefusesAFileThatCannotBeOpened) {
  const std::string missing = file() + ".folder/run.log";
  EXPECT_EQ(testing::user_error_of([&] {
              log::start({missing, "", log::Level::kInfo});
            }),
            missing + ": cannot open the log file for writing: No such file or directory");
}

}  // namespace
}  // namespace skyline
