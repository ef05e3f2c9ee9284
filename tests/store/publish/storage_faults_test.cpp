#include "skyline/core/error.hpp"

#include "store/fixtures/faulty_calls.hpp"
#include "store/fixtures/sample_checkpoint.hpp"
#include "store/fixtures/sample_run.hpp"
#include "store/journal/journal.hpp"
#include "store/publish/publish.hpp"
#include "store/publish/temporary_file.hpp"
#include "store/run_folder/file_claim.hpp"
#include "store/weights/checkpoint.hpp"
#include "support/scratch_folder.hpp"
#include "support/short_patience.hpp"
#include "support/user_error_of.hpp"

#include <atomic>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <span>
#include <string>
#include <thread>

#include <fcntl.h>
#include <gmock/gmock.h>

namespace skyline::store {
namespace {

using skyline::testing::fault_error_of;
using skyline::testing::FaultyCall;
using skyline::testing::ScratchFolder;
using skyline::testing::ShortPatience;
using skyline::testing::user_error_of;
using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr int kForEver = 1 << 30;

/// The log lines of `action`.
template <typename Action>
std::string log_of(Action action) {
  ::testing::internal::CaptureStderr();
  action();
  return ::testing::internal::GetCapturedStderr();
}

TEST(StorageFaults, ThatPassCostFilesOfProgramsNothingButTime) {
  const ScratchFolder folder;
  const auto rides_out = [](const char* call, const auto& action) {
    const FaultyCall faulty(call, EDQUOT, 2);
    EXPECT_THAT(log_of(action), HasSubstr("Disk quota exceeded; trying again for 60 s")) << call;
    EXPECT_EQ(faulty.calls(), 3) << call;
  };
  rides_out("mkdir", [&] { make_closed_folder(folder / "closed"); });
  rides_out("mkdir", [&] { make_own_folder(folder / "own"); });
  rides_out("pwrite", [&] { write_scratch_file(folder / "a", "text"); });
  rides_out("rename", [&] { rename_entry(folder / "a", folder / "b"); });
  EXPECT_EQ(read_end(folder / "b", 3), "ext");
  EXPECT_EQ(read_end(folder / "nothing", 3), "");
}

TEST(StorageFaults, OfFilesOfProgramsAreNeverTheMistakeOfATrial) {
  const ScratchFolder folder;
  std::filesystem::create_symlink(folder / "elsewhere", folder / "link");
  EXPECT_THAT(fault_error_of([&] { open_own(folder / "link", O_WRONLY | O_CREAT, 0600); }),
              HasSubstr("expected a file with this name alone, found a symbolic link"));
  EXPECT_THAT(fault_error_of([&] { write_scratch_file(folder / "nowhere/a", "x"); }),
              HasSubstr("nowhere/a: open: No such file or directory"));
}

TEST(StorageFaults, ThatPassCostAPublicationNothingButTimeAndAreTold) {
  const ScratchFolder folder;
  const auto path = folder / "a";
  for (const char* call : {"pwrite", "fsync", "rename"}) {
    for (const int error : {ENOSPC, EDQUOT, EIO, ESTALE, ETIMEDOUT}) {
      publish_file(path, "old");
      const FaultyCall faulty(call, error, 2);
      const std::string log = log_of([&] { publish_file(path, "new"); });
      EXPECT_EQ(read_file(path), "new") << call << " " << error;
      EXPECT_EQ(folder.num_entries(), 1u);
      const std::string name = *call == 'p' ? "write" : call;
      EXPECT_THAT(log, AllOf(HasSubstr("cannot write " + path.string() + " now: " + name + ": " +
                                       system_error_text(error) + "; trying again for 60 s\n"),
                             ContainsRegex(": it worked after [0-9]+ m?s\n")));
    }
  }
}

TEST(StorageFaults, AFailedFsyncOfTheFileOrItsFolderWritesTheFileAnew) {
  const ScratchFolder folder;
  for (const int spared : {0, 1}) {
    const FaultyCall faulty("fsync", EIO, 1, spared);
    publish_file(folder / "a", "text");
    EXPECT_EQ(faulty.calls(), 3 + spared);
  }
}

TEST(StorageFaults, ThatLastEndWithOneClearErrorAndTheOldFile) {
  const ScratchFolder folder;
  const auto path = folder / "a";
  publish_file(path, "old");
  const FaultyCall faulty("fsync", ENOSPC, kForEver);
  int tries = 0;
  for (double patience_s = 0.03; patience_s < 60 && tries < 2;
       patience_s *= 10) {  // a core may be away for as long
    const ShortPatience patience(patience_s);
    const int before = faulty.calls();
    EXPECT_EQ(
        fault_error_of([&] { publish_file(path, "new"); }),
        "cannot write " + path.string() + ": fsync: No space left on device (free some space and run again)");
    tries = faulty.calls() - before;
  }
  EXPECT_GT(tries, 1);
  EXPECT_EQ(read_file(path), "old");
  EXPECT_EQ(folder.num_entries(), 1u);
}

TEST(StorageFaults, ThatWillNotPassEndAtOnce) {
  const ScratchFolder folder;
  for (const int error : {EROFS, EACCES, ENOENT}) {
    const FaultyCall faulty("pwrite", error, kForEver);
    EXPECT_THAT(user_error_of([&] { publish_file(folder / "a", "new"); }),
                HasSubstr(": write: " + system_error_text(error)));
    EXPECT_EQ(faulty.calls(), 1);
  }
  const FaultyCall too_large("pwrite", EFBIG, kForEver);
  EXPECT_THAT(fault_error_of([&] { publish_file(folder / "a", "new"); }),
              HasSubstr(": write: File too large"));
  EXPECT_EQ(too_large.calls(), 1);
  EXPECT_EQ(folder.num_entries(), 0u);
}

TEST(StorageFaults, AWaitEndsWhenThePatienceIsCutShort) {
  const ScratchFolder folder;
  const ShortPatience patience(3600);
  const FaultyCall faulty("pwrite", ENOSPC, kForEver);
  std::string error;
  std::thread writer([&] { error = fault_error_of([&] { publish_file(folder / "a", "new"); }); });
  while (faulty.calls() == 0) std::this_thread::yield();
  set_patience(0);
  writer.join();
  EXPECT_THAT(error, HasSubstr("No space left on device"));
}

TEST(StorageFaults, ACallThatDoesNotReturnIsFoundByAnyThread) {
  std::atomic<bool> answered = false;
  const std::filesystem::path path = "runs/a";
  std::thread caller([&] {
    patiently("write", path, [&]() -> Fault {
      while (!answered) std::this_thread::yield();
      return {};
    });
  });
  std::string found;
  for (int look = 0; look < 6000 && found.empty(); ++look) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    found = stalled_operation(0.02);
  }
  EXPECT_EQ(found, "write runs/a");
  EXPECT_EQ(stalled_operation(3600), "");
  answered = true;
  caller.join();
  EXPECT_EQ(stalled_operation(0), "");
}

TEST(StorageFaults, AWriteOfPiecesIsNotSilentAsLongAsItAdvances) {
  const IoOperation operation("write", "runs/large");
  std::string found;
  for (int look = 0; look < 2000 && found.empty(); ++look) {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    found = stalled_operation(0.02);
  }
  EXPECT_EQ(found, "write runs/large");
  const ScratchFolder folder;
  TemporaryFile file(folder / "large");
  ASSERT_FALSE(file.create());
  const std::string piece(100, 'x');
  std::string silent = "not looked";
  for (int i = 0; i < 1000 && !silent.empty(); ++i) {  // this thread may have to wait for its core
    ASSERT_FALSE(file.write({std::as_bytes(std::span(piece))}, 0));
    silent = stalled_operation(0.02);
  }
  EXPECT_EQ(silent, "");
}

TEST(StorageFaults, ANewFileThatWasPublishedButIsNotDurableIsStillOurs) {
  const ScratchFolder folder;
  {
    const FaultyCall faulty("fsync", EIO, 1, 1);  // fsync of the folder, after the link
    EXPECT_TRUE(publish_new_file(folder / "a", "ours"));
  }
  EXPECT_EQ(read_file(folder / "a"), "ours");
  EXPECT_FALSE(publish_new_file(folder / "a", "theirs"));
  EXPECT_EQ(read_file(folder / "a"), "ours");
  EXPECT_EQ(folder.num_entries(), 1u);
}

TEST(StorageFaults, OfACheckpointAreAnErrorAtOnceAndLeaveTheOneBefore) {
  const ScratchFolder folder;
  const RunPaths paths{folder.path()};
  std::filesystem::create_directories(paths.checkpoints());
  write_checkpoint(paths, skyline::testing::sample_checkpoint(100), 0);
  write_checkpoint(paths, skyline::testing::sample_checkpoint(200), 1);
  const FaultyCall faulty("rename", EDQUOT, kForEver);
  EXPECT_THAT(fault_error_of([&] { write_checkpoint(paths, skyline::testing::sample_checkpoint(300), 2); }),
              HasSubstr("17.0.h5: rename: Disk quota exceeded"));
  EXPECT_EQ(faulty.calls(), 1);
  EXPECT_EQ(find_checkpoint(paths, {17}, skyline::testing::sample_provenance())->checkpoint.state.step, 200);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(paths.checkpoints()), {}), 2);
}

class JournalFaults : public ::testing::Test {
 protected:
  void append(std::size_t first, std::size_t last) {
    writer->append(testing::shared({trials.begin() + static_cast<std::ptrdiff_t>(first),
                                    trials.begin() + static_cast<std::ptrdiff_t>(last)}),
                   space);
  }
  std::size_t readable() const { return read_journal(path, space).entries.size(); }

  ScratchFolder folder;
  std::filesystem::path path = folder / "journal.jsonl";
  space::SearchSpace space = skyline::testing::sample_space();
  std::vector<trial::CommittedTrial> trials = skyline::testing::sample_trials(space, 6);
  std::unique_ptr<JournalWriter> writer = JournalWriter::create(path, skyline::testing::sample_header());
};

TEST_F(JournalFaults, ThatPassLeaveEveryLineOnce) {
  std::size_t written = 0;
  for (const char* call : {"pwrite", "fsync"}) {
    for (const int error : {ENOSPC, EIO, ESTALE}) {
      const FaultyCall faulty(call, error, 2);
      append(written, written + 1);
      EXPECT_EQ(faulty.calls(), 3);
      EXPECT_EQ(readable(), ++written);
    }
  }
  EXPECT_FALSE(read_journal(path, space).torn_tail);
}

TEST_F(JournalFaults, ThatLastCutTheJournalBackToItsLastGoodLine) {
  append(0, 2);
  const std::string before = read_file(path);
  {
    const ShortPatience patience(0.03);
    const FaultyCall faulty("fsync", EIO, kForEver);
    EXPECT_EQ(
        fault_error_of([&] { append(2, 4); }),
        "cannot write " + path.string() +
            ": fsync: Input/output error (the disk or its server has failed: see the system's log, then "
            "run again)");
  }
  EXPECT_EQ(read_file(path), before);
  append(2, 4);
  EXPECT_EQ(readable(), 4u);
}

TEST_F(JournalFaults, AfterAStaleHandleAnotherFileOfTheNameIsNotWrittenTo) {
  append(0, 1);
  const std::string text = read_file(path);
  std::filesystem::rename(path, folder / "moved");
  publish_file(path, text + text);
  const FaultyCall faulty("pwrite", ESTALE, 1);
  EXPECT_THAT(user_error_of([&] { append(1, 2); }), HasSubstr(": another job has taken this run over"));
  EXPECT_EQ(read_file(path), text + text);
}

TEST_F(JournalFaults, OfRepublishingAreBorneAndThenItIsDurable) {
  append(0, 1);
  writer.reset();
  const FaultyCall faulty("fsync", EIO, 2);
  republish_journal(path, read_journal(path, space));
  EXPECT_EQ(faulty.calls(), 2 + 2);  // the file, the folder
  writer = JournalWriter::resume(path, read_journal(path, space));
  append(1, 2);
  EXPECT_EQ(readable(), 2u);
}

TEST(ClaimFaults, AMissedHeartbeatIsToldAndTriedAgainAndEndsTheJobWhenItLasts) {
  const ScratchFolder folder;
  const RunPaths paths{folder / "run"};
  const auto claim = acquire_file_claim(paths, 0);
  const FaultyCall faulty("utimensat", ESTALE, kForEver);
  EXPECT_THAT(log_of([&] { claim->renew(); }), HasSubstr("; trying again at the next heartbeat\n"));
  const ShortPatience patience(0);
  EXPECT_THAT(fault_error_of([&] { claim->renew(); }),
              StartsWith("cannot write " + paths.owner().string() + ": utimensat: "));
}

TEST(RemoveFileFaults, AreBorne) {
  const ScratchFolder folder;
  publish_file(folder / "a", "x");
  const FaultyCall faulty("unlink", EIO, 2);
  remove_file(folder / "a");
  EXPECT_EQ(folder.num_entries(), 0u);
}

}  // namespace
}  // namespace skyline::store
