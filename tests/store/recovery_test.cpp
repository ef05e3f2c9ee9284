#include "store/run_folder/recovery.hpp"

#include "child_process.hpp"
#include "sample_checkpoint.hpp"
#include "scratch_folder.hpp"
#include "store/weights/checkpoint.hpp"
#include "support/user_error_of.hpp"

#include <gmock/gmock.h>

namespace skyline::store {
namespace {

using skyline::testing::overwrite;
using skyline::testing::ScratchFolder;
using skyline::testing::user_error_of;

class Recovery : public ::testing::Test {
 protected:
  ScratchFolder folder;
  RunPaths paths{folder / "run"};
  std::unique_ptr<RunClaim> claim = RunClaim::take(paths);
};

TEST_F(Recovery, OfANewFolderFindsNothing) {
  const RecoveredFolder recovered = recover_run_folder(paths, 0);
  EXPECT_EQ(recovered.temporaries + recovered.checkpoints + recovered.begun_trials, 0u);
}

TEST_F(Recovery, RemovesUnfinishedFilesOfAnyProcessInEveryFolder) {
  const std::string living = ".tmp.other.example." + std::to_string(::getpid()) + ".3";
  for (const std::filesystem::path& below : paths.folders()) overwrite(below / ("a.h5" + living), "");
  overwrite(paths.weights("b"), "");
  EXPECT_EQ(recover_run_folder(paths, 0).temporaries, paths.folders().size());
  EXPECT_EQ(recover_run_folder(paths, 0).temporaries, 0u);
  EXPECT_TRUE(std::filesystem::exists(paths.weights("b")));
}

TEST_F(Recovery, LeavesAJobAloneThatTriesToClaimTheFolder) {
  const auto attempt = paths.root / ("owner.json.tmp.other.example.12.3");
  overwrite(attempt, "");
  EXPECT_EQ(recover_run_folder(paths, 0).temporaries, 0u);
  EXPECT_TRUE(std::filesystem::exists(attempt));
}

TEST_F(Recovery, RemovesTheCheckpointsOfCommittedTrialsAndKeepsTheOthers) {
  for (const trial::TrialNumber trial : {3u, 4u, 5u, 12u}) {
    TrialCheckpoint checkpoint = skyline::testing::sample_checkpoint();
    checkpoint.owner.trial = trial;
    write_checkpoint(paths, checkpoint, 0);
    if (trial != 12) write_checkpoint(paths, checkpoint, 1);
  }
  for (const char* name : {"3.2.h5", "03.0.h5", "3.0.h5.bak", "notes.txt"}) {
    overwrite(paths.checkpoints() / name, "not ours");
  }
  const RecoveredFolder recovered = recover_run_folder(paths, 5);
  EXPECT_EQ(recovered.checkpoints, 4u);
  EXPECT_EQ(recovered.begun_trials, 2u);
  CheckpointOwner owner = skyline::testing::sample_owner();
  for (const trial::TrialNumber trial : {3u, 4u, 5u, 12u}) {
    owner.trial = trial;
    EXPECT_EQ(find_checkpoint(paths, owner).has_value(), trial >= 5);
  }
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(paths.checkpoints()), {}), 3 + 4);
}

TEST_F(Recovery, NamesAFolderThatHasVanished) {
  std::filesystem::remove(paths.checkpoints());
  EXPECT_EQ(user_error_of([&] { recover_run_folder(paths, 0); }),
            "cannot read the folder " + paths.checkpoints().string() + ": No such file or directory");
}

}  // namespace
}  // namespace skyline::store
