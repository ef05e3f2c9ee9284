#include "store/publish/folder_tree.hpp"

#include "skyline/core/error.hpp"

#include "store/fixtures/faulty_calls.hpp"
#include "support/scratch_folder.hpp"

#include <array>
#include <cerrno>
#include <fstream>
#include <iterator>
#include <string>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

namespace skyline::store {
namespace {

namespace fs = std::filesystem;
using testing::FaultyCall;
using ::testing::HasSubstr;
using testing::ScratchFolder;
using ::testing::ThrowsMessage;

std::string text_of(const fs::path& file) {
  std::ifstream stream(file);
  return {std::istreambuf_iterator<char>(stream), {}};
}

void write(const fs::path& file, const std::string& text) {
  fs::create_directories(file.parent_path());
  std::ofstream(file) << text;
}

void remove_all_of(const fs::path& folder, std::size_t most = 1000) {
  while (!remove_tree(folder, most)) {
  }
}

bool never() {
  return false;
}

class FolderTree : public ::testing::Test {
 protected:
  FolderTree() {
    write(tree_ / "a/b/weights.bin", std::string(5000, 'w'));
    write(tree_ / "state", "12345");
    write(outside_ / "precious", "x");
    fs::create_directory_symlink(outside_, tree_ / "a/out");
    fs::create_symlink(outside_ / "precious", tree_ / "file");
    fs::create_symlink("state", tree_ / "last");
  }

  const ScratchFolder scratch_;
  const fs::path tree_ = scratch_ / "tree";
  const fs::path outside_ = scratch_ / "outside";
};

TEST_F(FolderTree, IsRemovedButNothingToWhichItsLinksLead) {
  remove_all_of(tree_);
  EXPECT_FALSE(fs::exists(tree_));
  EXPECT_EQ(text_of(outside_ / "precious"), "x");
}

TEST_F(FolderTree, ThatIsItselfALinkIsRemovedAsALink) {
  fs::create_directory_symlink(outside_, scratch_ / "link");
  EXPECT_TRUE(remove_tree(scratch_ / "link", 10));
  EXPECT_FALSE(fs::exists(fs::symlink_status(scratch_ / "link")));
  EXPECT_EQ(text_of(outside_ / "precious"), "x");
  EXPECT_TRUE(remove_tree(scratch_ / "nowhere", 10));
}

TEST_F(FolderTree, OfAnyDepthIsRemovedInPortions) {
  std::string deep = tree_.string();
  constexpr int kLevels = 400;
  const fs::path here = fs::current_path();
  fs::current_path(tree_);  // the whole path is longer than a path may be
  for (int level = 0; level < kLevels; ++level) {
    fs::create_directory("folder_with_a_name");
    fs::current_path("folder_with_a_name");
    std::ofstream("file") << "x";
  }
  fs::current_path(here);
  EXPECT_FALSE(remove_tree(tree_, 10));
  EXPECT_TRUE(fs::exists(tree_));
  remove_all_of(tree_, 10);
  EXPECT_FALSE(fs::exists(tree_));
  EXPECT_EQ(text_of(outside_ / "precious"), "x");
}

TEST_F(FolderTree, IsRemovedWhateverTheModesOfItsFoldersAre) {
  fs::permissions(tree_ / "a/b", fs::perms::owner_read | fs::perms::owner_exec);
  fs::permissions(tree_ / "a", fs::perms::none);
  remove_all_of(tree_);
  EXPECT_FALSE(fs::exists(tree_));
}

TEST_F(FolderTree, HasTheBytesOfItsFilesAlone) {
  EXPECT_EQ(tree_bytes(tree_, 1'000'000), 5005U);
  EXPECT_GT(tree_bytes(tree_, 100), 100U);
  EXPECT_THAT([&] { tree_bytes(scratch_ / "nowhere", 1); },
              ThrowsMessage<UserError>(HasSubstr("No such file")));
  fs::create_directory_symlink(tree_, scratch_ / "link");
  EXPECT_THROW(tree_bytes(scratch_ / "link", 1), UserError);
  EXPECT_FALSE(is_empty_folder(tree_));
  fs::create_directory(tree_ / "empty");
  EXPECT_TRUE(is_empty_folder(tree_ / "empty"));
}

TEST_F(FolderTree, WithAHundredLevelsOfFoldersIsRefused) {
  fs::path deep = tree_;
  for (int level = 0; level < 100; ++level) deep /= "d";
  fs::create_directories(deep);
  EXPECT_THAT([&] { tree_bytes(tree_, 1'000'000); },
              ThrowsMessage<UserError>(HasSubstr("it has folders 100 levels deep")));
}

TEST_F(FolderTree, IsCopiedWithModesTimesAndLinksAsTheyAre) {
  fs::permissions(tree_ / "state", fs::perms::owner_read);
  const std::array<timespec, 2> times{timespec{1000, 0}, timespec{2000, 0}};
  ASSERT_EQ(::utimensat(AT_FDCWD, (tree_ / "state").c_str(), times.data(), 0), 0);
  ASSERT_EQ(::mkfifo((tree_ / "pipe").c_str(), S_IRWXU), 0);
  const fs::path copy = scratch_ / "copy";
  EXPECT_TRUE(copy_tree(tree_, copy, never));
  EXPECT_EQ(text_of(copy / "a/b/weights.bin"), std::string(5000, 'w'));
  struct stat status {};
  ASSERT_EQ(::stat((copy / "state").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0400U);
  EXPECT_EQ(status.st_mtim.tv_sec, 2000);
  EXPECT_EQ(fs::read_symlink(copy / "a/out"), outside_);
  EXPECT_EQ(fs::read_symlink(copy / "last"), "state");
  EXPECT_FALSE(fs::exists(fs::symlink_status(copy / "pipe")));
  EXPECT_EQ(fs::status(copy).permissions(), fs::perms::owner_all);
  fs::remove(copy / "state");
  std::ofstream(copy / "a/b/weights.bin") << "changed in place";
  EXPECT_EQ(text_of(tree_ / "a/b/weights.bin"), std::string(5000, 'w')) << "the files are others";
  EXPECT_NO_THROW(sync_tree(copy));
}

TEST_F(FolderTree, IsNotCopiedToTheEndIfSomebodyWantsToStop) {
  int asked = 0;
  EXPECT_FALSE(copy_tree(tree_, scratch_ / "copy", [&] { return ++asked > 3; }));
  EXPECT_THROW(copy_tree(tree_, scratch_ / "copy", never), UserError) << "what it made stays";
}

TEST_F(FolderTree, WithManyFilesIsMadeDurableAtOnceWithALine) {
  for (int i = 0; i < 400; ++i) write(tree_ / "many" / std::to_string(i), "x");
  const auto log_of = [](const auto& action) {
    ::testing::internal::CaptureStderr();
    action();
    return ::testing::internal::GetCapturedStderr();
  };
  {
    const FaultyCall counted("fsync", EIO, 0);
    EXPECT_THAT(log_of([&] { sync_tree(tree_); }),
                HasSubstr(tree_.string() + ": 406 files are made durable at once\n"));
    EXPECT_EQ(counted.calls(), 300);
  }
  {
    const FaultyCall faulty("syncfs", EIO, 1);
    EXPECT_THAT(log_of([&] { copy_tree(tree_, scratch_ / "copy", never); }),
                HasSubstr("cannot copy " + tree_.string() + " now: syncfs: Input/output error"));
    EXPECT_EQ(faulty.calls(), 2) << "it began anew";
    EXPECT_EQ(text_of(scratch_ / "copy/many/399"), "x");
  }
  const FaultyCall counted("syncfs", EIO, 0);
  EXPECT_EQ(log_of([&] { sync_tree(tree_ / "a"); }), "");
  EXPECT_EQ(counted.calls(), 0);
}

TEST_F(FolderTree, IsRemovedPatientlyAsAWhole) {
  const FaultyCall faulty("unlinkat", EIO, 2);
  remove_tree(tree_);
  EXPECT_FALSE(fs::exists(tree_));
  EXPECT_GT(faulty.calls(), 2);
}

TEST_F(FolderTree, IsCopiedFromAFileSystemToAnother) {
  std::string name = "/dev/shm/skyline-tree-XXXXXX";
  ASSERT_NE(::mkdtemp(name.data()), nullptr);
  EXPECT_TRUE(copy_tree(tree_, name + "/copy", never));
  EXPECT_EQ(text_of(name + "/copy/a/b/weights.bin"), std::string(5000, 'w'));
  remove_all_of(name);
}

}  // namespace
}  // namespace skyline::store
