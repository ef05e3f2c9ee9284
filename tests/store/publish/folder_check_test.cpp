#include "store/publish/folder_check.hpp"

#include "store/fixtures/faulty_calls.hpp"
#include "support/file_size_limit.hpp"
#include "support/scratch_folder.hpp"

#include <cerrno>

#include <gtest/gtest.h>

namespace skyline::store {
namespace {

TEST(FolderCheck, FindsASoundFolderSoundAndLeavesNothing) {
  const testing::ScratchFolder folder;
  const FolderCheck check = try_folder(folder.path());
  EXPECT_TRUE(check.refused.empty()) << check.refused.front().call << ": " << check.refused.front().reason;
  EXPECT_FALSE(check.kind.empty());
  EXPECT_GT(check.free_bytes, 0U);
  EXPECT_GT(check.publish_s, 0);
  EXPECT_GT(check.write_bytes_per_s, 0);
  EXPECT_GT(check.rename_s, 0);
  EXPECT_LT(std::abs(check.clock_ahead_s), 600);
  EXPECT_EQ(folder.num_entries(), 0U);
}

TEST(FolderCheck, NamesTheCallThatIsRefused) {
  const testing::ScratchFolder folder;
  const testing::FileSizeLimit limit(rlim_t{1} << 20);  // the large file does not fit
  const FolderCheck check = try_folder(folder.path());
  ASSERT_EQ(check.refused.size(), 1U);
  EXPECT_EQ(check.refused.front().call, "write");
  EXPECT_EQ(check.refused.front().reason,
            "File too large (limits of this process: 1048576 bytes of a file, ulimit -f)");
  EXPECT_GT(check.publish_s, 0);
  EXPECT_EQ(folder.num_entries(), 0U);
}

TEST(StorageFault, IsFoundByASmallFileThatLeavesNothing) {
  const testing::ScratchFolder folder;
  EXPECT_EQ(find_storage_fault(folder.path()).error, 0);
  for (const int error : {ENOSPC, EDQUOT, EIO, ESTALE}) {
    const testing::FaultyCall faulty("fsync", error, 1);
    EXPECT_EQ(find_storage_fault(folder.path()).error, error);
  }
  EXPECT_EQ(folder.num_entries(), 0U);
}

TEST(StorageFault, IsNoneOfAFolderThatIsMissingOrClosed) {
  const testing::ScratchFolder folder;
  EXPECT_EQ(find_storage_fault(folder / "nowhere").error, 0);
  const testing::FaultyCall faulty("pwrite", EACCES, 1);
  EXPECT_EQ(find_storage_fault(folder.path()).error, 0);
}

TEST(FolderRoom, IsKnownOfAFolderAndNotOfNone) {
  const testing::ScratchFolder folder;
  const FolderRoom room = room_in(folder.path());
  EXPECT_GT(room.free_bytes, 0U);
  EXPECT_GE(room.total_bytes, room.free_bytes);
  EXPECT_EQ(room_in(folder / "nowhere").total_bytes, 0U);
}

TEST(FolderCheck, TellsTheFileSystemByTheDeepestMount) {
  const char* const mounts =
      "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n"
      "31 22 0:40 / /home rw shared:2 master:3 - nfs4 server:/home rw\n"
      "32 31 0:41 / /home/a\\040b rw - fuse.sshfs b: rw\n"
      "33 22 0:42 / /scratch rw - xfs /dev/sdb rw\n"
      "34 33 0:43 / /scratch rw - lustre fs rw\n";
  EXPECT_EQ(file_system_of("/var/tmp", mounts), "ext4");
  EXPECT_EQ(file_system_of("/home", mounts), "nfs4");
  EXPECT_EQ(file_system_of("/home/someone/runs", mounts), "nfs4");
  EXPECT_EQ(file_system_of("/homes", mounts), "ext4");
  EXPECT_EQ(file_system_of("/home/a b/runs", mounts), "fuse.sshfs");
  EXPECT_EQ(file_system_of("/scratch/me", mounts), "lustre");
  EXPECT_EQ(file_system_of("/x", ""), "");
}

}  // namespace
}  // namespace skyline::store
