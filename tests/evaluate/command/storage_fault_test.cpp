#include "evaluate/command/storage_fault.hpp"

#include "evaluate/process/error_words.hpp"
#include "store/publish/folder_check.hpp"
#include "support/scratch_folder.hpp"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <string>

#include <gmock/gmock.h>

namespace skyline::evaluate {
namespace {

using testing::ScratchFolder;

class StorageFaultTest : public ::testing::Test {
 protected:
  /// The error that is found after a program has printed this.
  int error_after(const std::string& printed) {
    std::ofstream(log_) << "epoch 1\n" << printed << "\n";
    const auto fault = find_storage_fault(places_, log_tail(log_));
    EXPECT_TRUE(!fault || fault->place.empty());
    return fault ? fault->error : 0;
  }

  const ScratchFolder folder_;
  const std::filesystem::path log_ = folder_ / "17.log";
  const WrittenPlaces places_{folder_.path(), folder_.path(), folder_.path()};
};

TEST_F(StorageFaultTest, IsFoundInWhatTheSystemSaysThroughPrograms) {
  EXPECT_EQ(error_after("OSError: [Errno 28] No space left on device: 'model.pt'"), ENOSPC);
  EXPECT_EQ(error_after("Error: ENOSPC, write"), ENOSPC);
  EXPECT_EQ(error_after("OSError: 37500 requested and 16384 written"), ENOSPC) << "numpy.save";
  EXPECT_EQ(error_after("RuntimeError: PytorchStreamWriter failed writing file data/3: file write failed"),
            ENOSPC);
  EXPECT_EQ(error_after("cp: error writing 'a': Disk quota exceeded"), EDQUOT);
  EXPECT_EQ(error_after("OSError: [Errno 5] Eingabe-/Ausgabefehler"), EIO);
  EXPECT_EQ(error_after("tar: a: Cannot read: Input/output error\ntar: exiting"), EIO);
  EXPECT_EQ(error_after("OSError: [Errno 116] Stale file handle"), ESTALE);
}

TEST_F(StorageFaultTest, IsFoundWhereTheLogLacksText) {
  const auto fault = find_storage_fault(places_, log_tail(log_), ENOSPC);
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->to_text(), "No space left on device");
}

TEST_F(StorageFaultTest, IsFoundInTheReasonThatAnotherProgramGave) {
  for (const int error : {ENOSPC, EDQUOT, EIO, ESTALE}) {
    const StorageFault met{error, folder_.path(), "its TMPDIR"};
    const auto fault = find_storage_fault(places_, {"process 1: " + met.to_text()});
    ASSERT_TRUE(fault);
    EXPECT_EQ(fault->error, error);
    EXPECT_EQ(fault->place, "") << "nothing is wrong there now";
  }
}

TEST_F(StorageFaultTest, IsNotFoundInOtherWords) {
  EXPECT_EQ(error_after("ValueError: no space for layer 3"), 0);
  EXPECT_EQ(error_after("OSError: [Errno 2] No such file or directory"), 0);
  EXPECT_EQ(error_after("OSError: [Errno 50] of 5, errno 282, heios"), 0);
  EXPECT_FALSE(find_storage_fault(places_, log_tail(folder_ / "nowhere.log")));
}

TEST_F(StorageFaultTest, IsTheTrialsOwnOnlyWhereItHadMuchRoom) {
  const store::FolderRoom room = store::room_in(folder_.path());
  if (room.free_bytes <= std::min<std::uint64_t>(room.total_bytes / 2, std::uint64_t{10} << 30U)) {
    EXPECT_FALSE(failure_by_own_files({ENOSPC, folder_.path(), "its TMPDIR"}, places_));
    return;
  }
  const auto own = failure_by_own_files({.error = ENOSPC}, places_);
  ASSERT_TRUE(own);
  EXPECT_EQ(own->kind, trial::FailureKind::kFilledStorage);
  EXPECT_EQ(own->reason, "its files filled a disk");
  const auto filled = failure_by_own_files({ENOSPC, folder_.path(), "its TMPDIR"}, places_);
  ASSERT_TRUE(filled);
  EXPECT_EQ(filled->reason, "its files filled a disk") << "which one, and its size, differ by host";
  for (const int error : {EDQUOT, EIO, ESTALE}) EXPECT_FALSE(failure_by_own_files({.error = error}, places_));
  EXPECT_FALSE(failure_by_own_files({.error = ENOSPC}, {folder_ / "nowhere", folder_.path()}));
}

}  // namespace
}  // namespace skyline::evaluate
