#include "store/data/staged_dataset.hpp"

#include "skyline/store/dataset.hpp"

#include "store/fixtures/faulty_calls.hpp"
#include "store/fixtures/sample_dataset.hpp"
#include "store/publish/publish.hpp"
#include "support/child_process.hpp"
#include "support/scratch_folder.hpp"
#include "support/user_error_of.hpp"

#include <cerrno>
#include <ctime>
#include <string>
#include <vector>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

namespace skyline::store {
namespace {

namespace fs = std::filesystem;
using skyline::testing::DatasetContents;
using skyline::testing::overwrite;
using skyline::testing::same_dataset;
using skyline::testing::sample_contents;
using skyline::testing::ScratchFolder;
using skyline::testing::user_error_of;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class Staging : public ::testing::Test {
 protected:
  Staging() {
    write_dataset(source, contents);
    copy = staged_path(node.path(), Dataset::open(source, true)->content_hash());
  }
  /// Returns the seconds of copying; 0 if there was a copy.
  double stage() const { return stage_dataset(source, node.path()).value(); }
  std::string stage_error() const {
    return user_error_of([&] { stage(); });
  }
  /// The log lines of a staging that makes the copy again.
  std::string log_of_copying() const {
    ::testing::internal::CaptureStderr();
    EXPECT_GT(stage(), 0);
    return ::testing::internal::GetCapturedStderr();
  }
  std::vector<fs::path> copies() const {
    std::vector<fs::path> paths;
    for (const auto& entry : fs::directory_iterator(copy.parent_path())) paths.push_back(entry.path());
    return paths;
  }
  static void age(const fs::path& path, double days) {
    const timespec then{std::time(nullptr) - static_cast<std::time_t>(days * 86400), 0};
    const timespec times[2] = {then, then};
    ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), times, AT_SYMLINK_NOFOLLOW), 0);
  }

  ScratchFolder shared;
  ScratchFolder node;
  fs::path source = shared / "set.h5";
  fs::path copy;
  DatasetContents contents = sample_contents();
};

TEST_F(Staging, CopiesOnceUnderANameOfTheContent) {
  EXPECT_GT(stage(), 0);
  EXPECT_EQ(read_file(copy), read_file(source));
  EXPECT_TRUE(same_dataset(*Dataset::open(copy, true), contents));
  EXPECT_EQ(stage(), 0) << "the copy is there";
  fs::rename(source, shared / "other.h5");
  EXPECT_EQ(stage_dataset(shared / "other.h5", node.path()), 0) << "whatever the file's name";
  EXPECT_EQ(copies().size(), 1U);
}

TEST_F(Staging, AnotherDataSetOfTheSameNameGetsACopyOfItsOwn) {
  stage();
  contents.train.pixels()[0] ^= 1;
  write_dataset(source, contents);
  EXPECT_GT(stage(), 0);
  const fs::path other = staged_path(node.path(), Dataset::open(source, true)->content_hash());
  EXPECT_NE(other, copy);
  EXPECT_TRUE(same_dataset(*Dataset::open(other, true), contents));
}

TEST_F(Staging, AUsedCopyNeedsTheOriginalsSealAlone) {
  stage();
  std::string bytes = read_file(source);
  std::fill(bytes.end() - 64, bytes.end(), '\0');  // labels of the test set
  overwrite(source, bytes);
  EXPECT_EQ(stage(), 0);
}

TEST_F(Staging, TheFolderIsForThisUserAlone) {
  stage();
  struct stat status {};
  ASSERT_EQ(::lstat(copy.parent_path().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777U, 0700U);
}

TEST_F(Staging, ATornOrDamagedCopyIsMadeAgain) {
  stage();
  const std::string intact = read_file(copy);
  std::string damaged = intact;
  damaged[damaged.size() / 2] ^= 1;
  for (const std::string& bytes : {damaged, intact.substr(0, intact.size() / 2), std::string()}) {
    overwrite(copy, bytes);
    EXPECT_THAT(log_of_copying(), HasSubstr("making the copy " + copy.string() + " again: "));
    EXPECT_EQ(read_file(copy), intact);
  }
}

TEST_F(Staging, OtherDataInTheCopysPlaceAreNotUsed) {
  stage();
  contents.train.pixels()[0] ^= 1;
  write_dataset(shared / "else.h5", contents);
  overwrite(copy, read_file(shared / "else.h5"));
  EXPECT_THAT(log_of_copying(), HasSubstr("not the data of its name"));
}

TEST_F(Staging, ADamagedOriginalIsAnErrorAndLeavesNoCopy) {
  std::string bytes = read_file(source);
  const std::string pixels(contents.train.pixels().begin(), contents.train.pixels().begin() + 20);
  bytes.at(bytes.find(pixels)) ^= 1;  // the sums of images are not computed when a file is opened
  const std::string hash = Dataset::open(source, false)->content_hash();
  overwrite(source, bytes);
  ASSERT_EQ(Dataset::open(source, false)->content_hash(), hash);
  EXPECT_THAT(stage_error(), AllOf(HasSubstr("cannot keep a copy of " + source.string()),
                                   HasSubstr("damaged"), HasSubstr("skyline validate")));
  EXPECT_THAT(copies(), IsEmpty());
}

TEST_F(Staging, AMissingOriginalOrFolderIsNamed) {
  EXPECT_THAT(user_error_of([&] { stage_dataset(shared / "no.h5", node.path()); }),
              HasSubstr("no.h5: No such file"));
  EXPECT_THAT(user_error_of([&] { stage_dataset(source, node / "none"); }),
              AllOf(HasSubstr((node / "none").string()), HasSubstr("No such file"), HasSubstr("data.stage")));
}

TEST_F(Staging, AFullDiskIsTriedOnceAndLeavesNothing) {
  const skyline::testing::FaultyCall full("pwrite", ENOSPC, 1000);
  EXPECT_THAT(stage_error(), AllOf(HasSubstr("cannot keep a copy of " + source.string()),
                                   HasSubstr("write: No space left on device")));
  EXPECT_EQ(full.calls(), 1);
  EXPECT_THAT(copies(), IsEmpty());
}

TEST_F(Staging, CopiesThatNobodyUsedForAWeekGoButNotFromWhoReadsThem) {
  stage();
  const auto reader = Dataset::open(copy, false);
  age(copy, 6);
  DatasetContents others = contents;
  others.train.pixels()[0] ^= 1;
  write_dataset(shared / "others.h5", others);
  const auto stage_others = [&] { return stage_dataset(shared / "others.h5", node.path()).value(); };
  const fs::path other_copy =
      staged_path(node.path(), Dataset::open(shared / "others.h5", true)->content_hash());
  stage_others();
  EXPECT_TRUE(fs::exists(copy));
  age(copy, 8);
  stage_others();
  EXPECT_FALSE(fs::exists(copy));
  EXPECT_TRUE(same_dataset(*reader, contents));
  age(other_copy, 8);
  EXPECT_EQ(stage_others(), 0) << "used now";
  age(other_copy, 6.9);
  EXPECT_EQ(stage_others(), 0);
  struct stat status {};
  ASSERT_EQ(::stat(other_copy.c_str(), &status), 0);
  EXPECT_LT(std::time(nullptr) - status.st_mtime, 3600) << "a use counts from now on";
}

TEST_F(Staging, WhatAKilledJobLeftIsRemoved) {
  make_stage(node.path());
  const pid_t gone = skyline::testing::start_child([] {});
  skyline::testing::wait_for_child(gone);
  char host[256] = {};
  ASSERT_EQ(::gethostname(host, sizeof(host) - 1), 0);
  overwrite(copy.string() + ".tmp." + host + "." + std::to_string(gone) + ".0", "half a copy");
  stage();
  EXPECT_EQ(copies().size(), 1U);
}

TEST_F(Staging, ALinkOrAnOpenFolderInItsPlaceIsRefused) {
  const fs::path folder = copy.parent_path();
  const ScratchFolder elsewhere;
  fs::create_directory_symlink(elsewhere.path(), folder);
  EXPECT_THAT(stage_error(), HasSubstr(folder.string() + " on "));
  EXPECT_THAT(stage_error(), HasSubstr(": not a folder"));
  fs::remove(folder);
  fs::create_directory(folder);
  fs::permissions(folder, fs::perms{0770});
  EXPECT_THAT(stage_error(), HasSubstr(": others may use it"));
  fs::permissions(folder, fs::perms{0700});
  if (::geteuid() == 0 && ::chown(folder.c_str(), 1, 1) == 0) {  // only root can give a folder away
    EXPECT_THAT(stage_error(), HasSubstr(": it belongs to another user"));
  }
  EXPECT_THAT(copies(), IsEmpty());
}

TEST_F(Staging, AFolderThatOthersCouldReplaceIsRefused) {
  fs::permissions(node.path(), fs::perms{0777});
  EXPECT_THAT(stage_error(), HasSubstr("others may put another folder in its place: " + node.path().string() +
                                       " is writable"));
  for (const unsigned mode : {01777U, 0755U, 0775U, 0700U}) {  // modes of /tmp and of folders that users make
    fs::permissions(node.path(), fs::perms{mode});
    EXPECT_NO_THROW(stage()) << std::oct << mode;
  }
  if (::geteuid() != 0) return;  // only root can give a folder away
  fs::permissions(node.path(), fs::perms{0775});
  ASSERT_EQ(::chown(node.path().c_str(), 1, 1), 0);
  for (const unsigned mode : {0775U, 0755U, 01777U}) {
    fs::permissions(node.path(), fs::perms{mode});
    EXPECT_THAT(stage_error(), HasSubstr("others may put another folder in its place: " +
                                         node.path().string() + " belongs to another user"));
  }
}

TEST_F(Staging, OfSeveralJobsOfANodeOneCopies) {
  std::vector<pid_t> children(6);
  for (pid_t& child : children) {
    child = skyline::testing::start_child([&] {
      const double copy_s = stage();
      if (!same_dataset(*Dataset::open(copy, true), contents)) ::_exit(2);
      if (copy_s > 0) ::_exit(1);
    });
  }
  int copied = 0;
  for (const pid_t child : children) {
    const int status = skyline::testing::wait_for_child(child);
    ASSERT_TRUE(WIFEXITED(status));
    ASSERT_NE(WEXITSTATUS(status), 2);
    copied += WEXITSTATUS(status);
  }
  EXPECT_EQ(copied, 1);
  EXPECT_EQ(copies().size(), 1U);
}

TEST_F(Staging, StopsWhenAskedToAndLeavesNothingUnfinished) {
  int left = 0;
  const auto asked = [&] { return left-- <= 0; };
  const auto stops_after = [&](int questions) {
    left = questions;
    return !stage_dataset(source, node.path(), {.stop_requested = asked});
  };
  for (const int questions : {0, 1}) {  // before its turn, and with the copy begun
    EXPECT_TRUE(stops_after(questions)) << questions;
    EXPECT_THAT(copies(), IsEmpty());
  }
  EXPECT_TRUE(stops_after(2)) << "when the new copy is checked";
  EXPECT_TRUE(stops_after(0)) << "when the copy that is there is checked";
  EXPECT_EQ(stage(), 0) << "whole, and for the next job";
}

TEST_F(Staging, AFolderInTheCopysPlaceIsAnErrorAtOnce) {
  fs::create_directories(copy);
  fs::permissions(copy.parent_path(), fs::perms{0700});
  EXPECT_THAT(stage_error(),
              AllOf(HasSubstr("cannot keep a copy of " + source.string()), HasSubstr("is a folder")));
  EXPECT_EQ(copies().size(), 1U);
}

TEST_F(Staging, ACopyThatAnotherJobReplacedMeanwhileIsNotRemoved) {
  stage();
  const std::string intact = read_file(copy);
  overwrite(copy, intact.substr(0, intact.size() / 2));
  int asked = 0;
  const auto replace = [&] {  // asked first when the damage has been found, before the turn
    if (asked++ == 0) publish_file(copy, intact);
    return false;
  };
  EXPECT_EQ(stage_dataset(source, node.path(), {.stop_requested = replace}), 0);
}

TEST_F(Staging, ACopyThatIsCheckedIsNotUnused) {
  stage();
  age(copy, 8);
  bool seen = false;
  const auto look = [&] {
    struct stat status {};
    seen = ::stat(copy.c_str(), &status) == 0 && std::time(nullptr) - status.st_mtime < 3600;
    return true;
  };
  EXPECT_FALSE(stage_dataset(source, node.path(), {.stop_requested = look}));
  EXPECT_TRUE(seen) << "marked as used before it is read";
}

TEST_F(Staging, TellsHowFarItIs) {
  ::testing::internal::CaptureStderr();
  stage_dataset(source, node.path(), {.report_after_s = 0});
  EXPECT_THAT(
      ::testing::internal::GetCapturedStderr(),
      HasSubstr("copying " + source.string() + " to " + copy.parent_path().string() + ": 0.0 MB of 0.0 MB"));
}

}  // namespace
}  // namespace skyline::store
