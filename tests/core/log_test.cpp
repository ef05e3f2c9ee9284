#include "core/log.hpp"

#include "skyline/core/error.hpp"

#include "core/log_sink.hpp"
#include "core/system/may_block.hpp"
#include "support/file_size_limit.hpp"
#include "support/scratch_folder.hpp"
#include "support/user_error_of.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

namespace skyline {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;
using ::testing::StartsWith;

class Log : public ::testing::Test {
 protected:
  ~Log() override {
    log::stop();
    log::start({});
  }
  std::string file() const { return (folder_ / "run.log").string(); }
  std::vector<std::string> lines() const {
    std::ifstream stream(file());
    std::vector<std::string> result;
    for (std::string line; std::getline(stream, line);) result.push_back(line);
    return result;
  }

 private:
  const testing::ScratchFolder folder_;
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
  std::ofstream(file()) << std::string(1000, '\n');
  ::testing::internal::CaptureStderr();
  log::start({file(), "", log::Level::kError});
  {
    const testing::FileSizeLimit full(1000);
    log::info("first");
    log::info("second");
  }
  log::stop();
  const std::string text = ::testing::internal::GetCapturedStderr();
  EXPECT_THAT(
      text, MatchesRegex("[0-9:]{8} warning: " + file() + ": lines of the log are lost: .*File too large\n"));
}

TEST_F(Log, IsNotWrittenWhereALinkOrAPipeLeads) {
  const auto error = [this] { return testing::user_error_of([this] { log::start({file(), "", {}}); }); };
  const std::string expected = file() + ": expected a file with this name alone, found ";
  ASSERT_EQ(::mkfifo(file().c_str(), 0600), 0);
  EXPECT_THAT(error(), StartsWith(expected + "a pipe or a device"));
  std::filesystem::remove(file());
  std::filesystem::create_symlink("/dev/null", file());
  EXPECT_THAT(error(), StartsWith(expected + "a symbolic link"));
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

TEST_F(Log, WritesEverythingInOrderFromTheBackground) {
  std::vector<std::string> all;
  for (int round = 0; round < 5 && all.size() < 1001;
       ++round) {  // the end may wait less than the writer for a core
    std::filesystem::remove(file());
    log::start({file(), "", log::Level::kError});
    {
      const log::Background background;
      for (int i = 0; i < 1000; ++i) log::info("line " + std::to_string(i));
    }
    log::info("line 1000");
    log::stop();
    all = lines();
  }
  ASSERT_EQ(all.size(), 1001U);
  for (std::size_t i = 0; i < all.size(); ++i) EXPECT_TRUE(all[i].ends_with("line " + std::to_string(i)));
}

TEST_F(Log, HasNobodyWaitForATerminalThatTakesNoMore) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  ASSERT_EQ(::fcntl(ends[0], F_SETFL, O_NONBLOCK), 0);
  const int terminal = ::dup(STDERR_FILENO);
  ASSERT_EQ(::dup2(ends[1], STDERR_FILENO), STDERR_FILENO);
  std::string text;
  {
    const log::Background background;
    for (int i = 0; i < 20'000; ++i) log::info("information");
    log::warning("it matters");
    const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    while (text.find("it matters") == std::string::npos && std::chrono::steady_clock::now() < end) {
      std::string block(1 << 16, '\0');
      const ssize_t count = ::read(ends[0], block.data(), block.size());
      text.append(block, 0, static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
    }
  }
  ::dup2(terminal, STDERR_FILENO);
  for (const int each : {ends[0], ends[1], terminal}) ::close(each);
  EXPECT_THAT(text, HasSubstr(" lines are left out here: they came faster than they could be written"));
  EXPECT_THAT(text, HasSubstr("it matters\n"));
}

TEST_F(Log, IsNotWrittenByAThreadThatMustNeverWait) {
  log::start({file(), "", log::Level::kError});
  const NeverBlocks others_wait;
  EXPECT_THROW(log::info("here"), InternalError);
  for (int round = 0; round < 5 && lines().empty(); ++round) {
    const log::Background background;
    log::info("there");
  }
  EXPECT_EQ(lines().size(), 1U);
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
