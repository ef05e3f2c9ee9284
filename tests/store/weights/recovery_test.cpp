#include "store/fixtures/sample_checkpoint.hpp"
#include "store/run_folder/run_folder.hpp"
#include "store/weights/checkpoint.hpp"
#include "support/child_process.hpp"
#include "support/scratch_folder.hpp"
#include "support/user_error_of.hpp"

#include <gmock/gmock.h>

namespace skyline::store {
namespace {

using skyline::testing::overwrite;
using skyline::testing::ScratchFolder;
using skyline::testing::user_error_of;

trial::CommitLog committed_trials(const std::vector<trial::TrialName>& names, double epochs) {
  trial::CommitLog log;
  for (const trial::TrialName name : names) {
    trial::CommittedTrial committed;
    trial::Trial& trial = committed.trial;
    trial.number = name.number;
    trial.proposal.architecture = std::make_shared<const space::Architecture>();
    trial.proposal.budget.epochs = epochs;
    if (name.is_final) trial.proposal.trains = name.number;
    trial.proposal.final_repeat = name.repeat;
    log.add(committed);
  }
  return log;
}

class Recovery : public ::testing::Test {
 protected:
  ScratchFolder folder;
  RunPaths paths{folder / "run"};
  std::unique_ptr<RunClaim> claim = RunClaim::acquire(paths);
};

TEST_F(Recovery, OfANewFolderFindsNothing) {
  const RecoveredFolder recovered = recover_run_folder(paths, {}, {});
  EXPECT_EQ(recovered.temporaries + recovered.checkpoints + recovered.begun_trials, 0u);
}

TEST_F(Recovery, RemovesUnfinishedFilesOfAnyProcessInEveryFolder) {
  const std::string living = ".tmp.other.example." + std::to_string(::getpid()) + ".3";
  for (const std::filesystem::path& below : paths.folders()) overwrite(below / ("a.h5" + living), "");
  overwrite(paths.weights({17}), "");
  EXPECT_EQ(recover_run_folder(paths, {}, {}).temporaries, paths.folders().size());
  EXPECT_EQ(recover_run_folder(paths, {}, {}).temporaries, 0u);
  EXPECT_TRUE(std::filesystem::exists(paths.weights({17})));
}

TEST_F(Recovery, LeavesAJobAloneThatTriesToClaimTheFolder) {
  const auto attempt = paths.root / ("owner.json.tmp.other.example.12.3");
  overwrite(attempt, "");
  EXPECT_EQ(recover_run_folder(paths, {}, {}).temporaries, 0u);
  EXPECT_TRUE(std::filesystem::exists(attempt));
}

TEST_F(Recovery, LeavesTheKeptStatesOfCommittedTrialsToThoseThatContinueThem) {
  TrialCheckpoint state = skyline::testing::sample_checkpoint();
  for (const trial::TrialNumber number : {3u, 5u, 12u}) {
    state.trial = {number};
    write_kept_state(paths, state);
  }
  overwrite(paths.checkpoints() / "03.kept.h5", "not ours");
  EXPECT_EQ(recover_run_folder(paths, committed_trials({{3}, {12}}, 10), {10}).checkpoints, 0u);
  EXPECT_EQ(kept_states(paths), (std::set<trial::TrialNumber>{3, 5, 12}));
  EXPECT_TRUE(find_kept_state(paths, 3, skyline::testing::sample_provenance()));
  remove_kept_state(paths, 3);
  EXPECT_FALSE(find_kept_state(paths, 3, skyline::testing::sample_provenance()));
}

TEST_F(Recovery, RemovesTheCheckpointsOfCommittedTrialsAndKeepsTheOthers) {
  const trial::CommitLog committed = committed_trials({{3}, {4}, {3, true}, {12}}, 10);
  const std::vector<trial::TrialName> kept{{5}, {4, true}, {13}};
  const std::vector<trial::TrialName> removed{{3}, {4}, {3, true}};
  for (const auto& names : {kept, removed}) {
    for (const trial::TrialName name : names) {
      TrialCheckpoint checkpoint = skyline::testing::sample_checkpoint();
      checkpoint.trial = name;
      write_checkpoint(paths, checkpoint, 0);
      if (name.number != 13) write_checkpoint(paths, checkpoint, 1);
    }
  }
  for (const char* name : {"3.10.h5", "03.0.h5", "3.0.h5.bak", "notes.txt"}) {
    overwrite(paths.checkpoints() / name, "not ours");
  }
  const RecoveredFolder recovered = recover_run_folder(paths, committed, {10});
  EXPECT_EQ(recovered.checkpoints, 6u);
  EXPECT_EQ(recovered.begun_trials, 3u);
  for (const trial::TrialName name : kept) {
    EXPECT_TRUE(find_checkpoint(paths, name, skyline::testing::sample_provenance())) << to_text(name);
  }
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(paths.checkpoints()), {}), 5 + 4);
}

TEST_F(Recovery, KeepsTheCheckpointOfAFullTrainingWithAnotherBudgetThanTheCommittedOne) {
  TrialCheckpoint checkpoint = skyline::testing::sample_checkpoint();
  checkpoint.trial = {3, true};
  write_checkpoint(paths, checkpoint, 0);
  const trial::CommitLog committed = committed_trials({{3}, {3, true}}, 10);
  EXPECT_EQ(recover_run_folder(paths, committed, {20}).begun_trials, 1u);
  EXPECT_EQ(recover_run_folder(paths, committed, {10}).checkpoints, 1u);
}

TEST_F(Recovery, NamesAFolderThatHasVanished) {
  std::filesystem::remove(paths.checkpoints());
  EXPECT_EQ(user_error_of([&] { recover_run_folder(paths, {}, {}); }),
            "cannot read the folder " + paths.checkpoints().string() + ": No such file or directory");
}

}  // namespace
}  // namespace skyline::store
