#include "store/publish/publish.hpp"

#include "support/child_process.hpp"
#include "support/file_size_limit.hpp"
#include "support/scratch_folder.hpp"
#include "support/user_error_of.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

namespace skyline::store {
namespace {

using skyline::testing::fault_error_of;
using skyline::testing::FileSizeLimit;
using skyline::testing::overwrite;
using skyline::testing::ScratchFolder;
using skyline::testing::user_error_of;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

std::string this_host() {
  char name[256] = {};
  ::gethostname(name, sizeof(name) - 1);
  return name;
}

TEST(Publish, ExtendsAFileThatAReaderNeverFindsShorter) {
  const ScratchFolder folder;
  extend_scratch_file(folder / "a.txt", "first\n");
  const FileDescriptor changes(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
  ASSERT_GE(::inotify_add_watch(changes.get(), (folder / "a.txt").c_str(), IN_MODIFY), 0);
  extend_scratch_file(folder / "a.txt", "first\nsecond\n");
  std::array<char, 4096> events{};
  EXPECT_EQ(::read(changes.get(), events.data(), events.size()), static_cast<ssize_t>(sizeof(inotify_event)))
      << "one change: a file that is emptied first has two";
  EXPECT_EQ(read_file(folder / "a.txt"), "first\nsecond\n");
}

TEST(Publish, ReplacesAFileAndLeavesNothingElse) {
  const ScratchFolder folder;
  publish_file(folder / "a.txt", "first");
  publish_file(folder / "a.txt", std::string_view("second\0text", 11));
  EXPECT_EQ(read_file(folder / "a.txt"), std::string("second\0text", 11));
  EXPECT_EQ(folder.num_entries(), 1u);
}

TEST(Publish, WritesFilesOfSeveralPieces) {
  const ScratchFolder folder;
  std::string text((std::size_t{5} << 20) + 12345, 'x');
  for (std::size_t i = 0; i < text.size(); i += 1000) text[i] = static_cast<char>('a' + i / 1000 % 26);
  publish_file(folder / "large", text);
  EXPECT_EQ(read_file(folder / "large"), text);
}

TEST(Publish, WorksForANameWithoutAFolder) {
  const ScratchFolder folder;
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(folder.path());
  publish_file("plain.txt", "here");
  std::filesystem::current_path(before);
  EXPECT_EQ(read_file(folder / "plain.txt"), "here");
}

TEST(Publish, OfSeveralWritersOfANewFileOneWins) {
  const ScratchFolder folder;
  std::vector<int> won(8);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < won.size(); ++i) {
    threads.emplace_back([&, i] { won[i] = publish_new_file(folder / "one", std::to_string(i)) ? 1 : 0; });
  }
  for (std::thread& thread : threads) thread.join();
  ASSERT_EQ(std::count(won.begin(), won.end(), 1), 1);
  const auto winner = std::find(won.begin(), won.end(), 1) - won.begin();
  EXPECT_EQ(read_file(folder / "one"), std::to_string(winner));
  EXPECT_EQ(folder.num_entries(), 1u);
}

TEST(Publish, AFullDiskIsAnErrorThatLeavesTheOldFileAndNoTemporary) {
  const ScratchFolder folder;
  publish_file(folder / "a", "old");
  const FileSizeLimit limit(1000);
  EXPECT_EQ(fault_error_of([&] { publish_file(folder / "a", std::string(5000, 'n')); }),
            "cannot write " + (folder / "a").string() + ": write: " + system_error_text(EFBIG));
  EXPECT_EQ(read_file(folder / "a"), "old");
  EXPECT_EQ(folder.num_entries(), 1u);
}

TEST(Publish, AMissingFolderIsNamed) {
  const ScratchFolder folder;
  EXPECT_EQ(user_error_of([&] { publish_file(folder / "none/a.h5", "x"); }),
            "cannot write " + (folder / "none/a.h5").string() + ": there is no folder " +
                (folder / "none").string() + " (make it first)");
}

TEST(Publish, AFolderInThePlaceOfTheFileIsAnError) {
  const ScratchFolder folder;
  std::filesystem::create_directory(folder / "a");
  EXPECT_EQ(user_error_of([&] { publish_file(folder / "a", "x"); }),
            "cannot write " + (folder / "a").string() + ": rename: Is a directory");
  EXPECT_EQ(folder.num_entries(), 1u);
}

TEST(Publish, AnUnwritableFolderIsAnErrorWithAdvice) {
  const ScratchFolder folder;
  std::filesystem::permissions(folder.path(), std::filesystem::perms(0555));
  const std::string message = skyline::testing::text_of_unprivileged_child(
      [&] { return user_error_of([&] { publish_file(folder / "a", "x"); }); });
  std::filesystem::permissions(folder.path(), std::filesystem::perms(0755));
  EXPECT_EQ(message,
            "cannot write " + (folder / "a").string() +
                ": Permission denied (choose a place that you may write to, or change its permissions)");
}

TEST(Publish, ReadersOfAWriterThatIsKilledSeeWholeFilesOnly) {
  const ScratchFolder folder;
  const auto path = folder / "whole";
  const std::size_t size = std::size_t{2} << 20;
  publish_file(path, std::string(size, 'A'));
  for (int round = 0; round < 25; ++round) {
    const pid_t child = skyline::testing::start_child([&] {
      for (char letter = 'A';; letter = letter == 'Z' ? 'A' : static_cast<char>(letter + 1)) {
        publish_file(path, std::string(size, letter));
      }
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(3 + 2 * round));
    ::kill(child, SIGKILL);
    skyline::testing::wait_for_child(child);
    const std::string text = read_file(path);
    ASSERT_EQ(text.size(), size);
    ASSERT_EQ(text.find_first_not_of(text[0]), std::string::npos);
  }
  remove_temporaries(folder.path());
  EXPECT_EQ(folder.num_entries(), 1u);
}

TEST(Publish, RemovesTheTemporariesOfProcessesThatAreGone) {
  const ScratchFolder folder;
  constexpr const char* kNoProcess = ".2147483646.";
  overwrite(folder / ("a.h5.tmp." + this_host() + kNoProcess + "0"), "");
  overwrite(folder / ("a.h5.tmp." + this_host() + "." + std::to_string(::getpid()) + ".7"), "");
  overwrite(folder / "b.h5.tmp.other.example.12.3", "");
  overwrite(folder / "c.h5.tmp.other.example.12.4", "");
  overwrite(folder / "d.tmp.5", "");
  overwrite(folder / "e.h5", "");
  const timespec times[2] = {{::time(nullptr) - 100, 0}, {::time(nullptr) - 100, 0}};
  ASSERT_EQ(::utimensat(AT_FDCWD, (folder / "c.h5.tmp.other.example.12.4").c_str(), times, 0), 0);

  EXPECT_EQ(remove_temporaries(folder.path()), 2u);
  EXPECT_EQ(folder.num_entries(), 4u);
  EXPECT_FALSE(std::filesystem::exists(folder / "c.h5.tmp.other.example.12.4"));
  EXPECT_TRUE(std::filesystem::exists(folder / "b.h5.tmp.other.example.12.3"));
  EXPECT_EQ(remove_temporaries(folder / "none"), 0u);
}

TEST(ReadFile, NamesAFileThatIsNotThereAndAFolder) {
  const ScratchFolder folder;
  EXPECT_EQ(user_error_of([&] { read_file(folder / "none"); }),
            "cannot read " + (folder / "none").string() + ": No such file or directory");
  EXPECT_EQ(user_error_of([&] { read_file(folder.path()); }),
            "cannot read " + folder.path().string() + ": Is a directory");
}

TEST(ReadFile, ReadsFilesThatTellNoSize) {
  EXPECT_THAT(read_file("/proc/self/status"), AllOf(HasSubstr("Pid:"), Not(HasSubstr(std::string(1, '\0')))));
}

}  // namespace
}  // namespace skyline::store
