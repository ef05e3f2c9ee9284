#include "engine/slots/trial_folders.hpp"

#include "engine/fixtures/engine_rig.hpp"
#include "engine/loop/trial_maker.hpp"
#include "engine/weights/weights_keeper.hpp"
#include "support/scratch_folder.hpp"
#include "support/short_patience.hpp"
#include "support/user_error_of.hpp"

#include <atomic>
#include <chrono>
#include <fstream>
#include <future>
#include <memory>
#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline::engine {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;

class FoldersOfTrials : public ::testing::Test {
 protected:
  FoldersOfTrials() { fs::create_directory(paths_.trials()); }

  static EngineOptions options_that_keep(KeepWeights keep, bool inherit = false) {
    EngineOptions options;
    options.keep_weights = keep;
    options.inherit = inherit;
    options.folders = true;
    options.inherit_key = "command.inherit";
    return options;
  }
  static trial::Trial trial(trial::TrialNumber number, trial::Start start = {}) {
    trial::Trial made;
    made.number = number;
    made.proposal.architecture = std::make_shared<const space::Architecture>(test_space().build({{1, 1, 0}}));
    made.proposal.budget = {2};
    made.proposal.start = std::move(start);
    return made;
  }
  TrialFolders::Begun begin(const trial::Trial& trial, std::uint32_t losses = 0) {
    return folders_.begin(trial, losses, stop_).value();
  }
  static void save(const TrialFolders::Begun& begun, const std::string& text = "state") {
    std::ofstream(begun.shown.path / "state") << text;
  }
  static trial::Outcome end(const TrialFolders& folders, const trial::Trial& trial,
                            const TrialFolders::Begun& begun, bool succeeded = true) {
    trial::Outcome outcome = trial::Measurements{};
    if (!succeeded) outcome = trial::Failure{trial::FailureKind::kProgram, "exit code 1"};
    folders.end(trial, begun, outcome);
    return outcome;
  }
  /// Makes, fills and ends the folder of a trial.
  fs::path leave(const TrialFolders& folders, const trial::Trial& trial, bool succeeded = true) {
    const TrialFolders::Begun begun = folders.begin(trial, 0, stop_).value();
    save(begun);
    end(folders, trial, begun, succeeded);
    return begun.shown.path;
  }
  bool is_there(const fs::path& folder) {
    storage_.drain();
    return fs::exists(folder);
  }

  const testing::ScratchFolder scratch_;
  const store::RunPaths paths_{scratch_.path()};
  store::StorageThread storage_;
  const RunFiles files_{paths_, {}, storage_};
  std::atomic<bool> stop_{false};
  const EngineOptions options_ = options_that_keep(KeepWeights::kFront, true);
  const TrialFolders folders_{files_, options_, 0};
};

TEST_F(FoldersOfTrials, SayWhetherThereIsSomethingToGoOnFrom) {
  const TrialFolders::Begun first = begin(trial(3));
  EXPECT_FALSE(first.shown.resumed);
  EXPECT_FALSE(first.holds_files());
  save(first);
  EXPECT_TRUE(first.holds_files());
  const TrialFolders::Begun next = begin(trial(3), 1);
  EXPECT_TRUE(next.shown.resumed);
  EXPECT_TRUE(next.shown.parent.empty());
  EXPECT_FALSE(first.holds_files()) << "it is the next attempt's now";
}

TEST_F(FoldersOfTrials, OfAttemptsThatWereLostNeitherPublishNorRemoveAnything) {
  const trial::Trial lost = trial(3);
  const TrialFolders::Begun first = begin(lost);
  const TrialFolders::Begun next = begin(lost, 1);
  save(next);
  const trial::Outcome outcome = end(folders_, lost, first);
  ASSERT_TRUE(std::holds_alternative<trial::Failure>(outcome));
  EXPECT_EQ(std::get<trial::Failure>(outcome).kind, trial::FailureKind::kProgram);
  end(folders_, lost, first, false);
  EXPECT_TRUE(is_there(next.shown.path));
  EXPECT_TRUE(std::holds_alternative<trial::Measurements>(end(folders_, lost, next)));
  EXPECT_EQ(store::find_published_folder(paths_, lost.name()).path, next.shown.path);
}

TEST_F(FoldersOfTrials, AreKeptForThoseWhoReadThemAndForPeople) {
  const EngineOptions keeps_none = options_that_keep(KeepWeights::kNone);
  const TrialFolders none(files_, keeps_none, 0);
  EXPECT_TRUE(is_there(leave(folders_, trial(0))));
  EXPECT_FALSE(is_there(leave(folders_, trial(1), false))) << "it failed";
  EXPECT_FALSE(is_there(leave(none, trial(2))));
  trial::Trial rung = trial(3);
  rung.proposal.horizon = {6};
  EXPECT_TRUE(is_there(leave(none, rung))) << "it may be continued";
  trial::Trial repeat = trial(4);
  repeat.proposal.trains = 4;
  repeat.proposal.final_repeat = 1;
  EXPECT_FALSE(is_there(leave(folders_, repeat)));
  const EngineOptions keeps_all = options_that_keep(KeepWeights::kAll);
  const TrialFolders all(files_, keeps_all, 0);
  const TrialFolders::Begun empty = all.begin(trial(5), 0, stop_).value();
  end(all, trial(5), empty);
  EXPECT_FALSE(is_there(empty.shown.path)) << "nothing is in it";
}

TEST_F(FoldersOfTrials, OfAContinuedTrialAreCopied) {
  const fs::path source = leave(folders_, trial(3));
  const TrialFolders::Begun next = begin(trial(7, trial::Continue{3, 1}));
  EXPECT_TRUE(next.shown.resumed);
  EXPECT_TRUE(fs::exists(next.shown.path / "state"));
  save(next, "further");
  EXPECT_EQ(fs::file_size(source / "state"), std::string("state").size());
}

TEST_F(FoldersOfTrials, OfAContinuedTrialThatAreLostCostTimeOnly) {
  const TrialFolders::Begun next = begin(trial(7, trial::Continue{3, 1}));
  EXPECT_FALSE(next.shown.resumed);
}

trial::Inherit heritage(trial::TrialNumber from) {
  return {from, nullptr, 1};
}

TEST_F(FoldersOfTrials, OfAParentAreWaitedForUntilTheyAreWhole) {
  const TrialFolders::Begun parent = begin(trial(3));
  std::future<TrialFolders::Begun> child =
      std::async(std::launch::async, [&] { return begin(trial(7, heritage(3))); });
  save(parent);
  EXPECT_NE(child.wait_for(std::chrono::milliseconds(50)), std::future_status::ready);
  end(folders_, trial(3), parent);
  const TrialFolders::Begun begun = child.get();
  EXPECT_EQ(begun.shown.parent, parent.shown.path);
  EXPECT_FALSE(begun.shown.resumed) << "its own folder is empty";
}

TEST_F(FoldersOfTrials, AreNotMadeForATrialThatIsAskedToStopWhileItWaits) {
  auto child =
      std::async(std::launch::async, [&] { return folders_.begin(trial(7, heritage(3)), 0, stop_); });
  EXPECT_NE(child.wait_for(std::chrono::milliseconds(50)), std::future_status::ready);
  stop_ = true;
  EXPECT_FALSE(child.get().has_value());
}

TEST_F(FoldersOfTrials, OfAParentThatStayAwayEndTheRunWithAdvice) {
  const testing::ShortPatience patience(0.05);
  EXPECT_THAT(testing::fault_error_of([&] { begin(trial(7, heritage(3))); }),
              AllOf(HasSubstr("trial 7 cannot start from the folder of trial 3: "),
                    HasSubstr("3/done: there is no such file after "),
                    HasSubstr("or start a new run with command.inherit: false)")));
}

TEST_F(FoldersOfTrials, CountAsAWholeWhenAParentIsChosen) {
  const trial::Trial parent = trial(3);
  trial::Trial other = trial(4);
  other.proposal.architecture = std::make_shared<const space::Architecture>(test_space().build({{2, 2, 1}}));
  const trial::Proposal child{other.proposal.architecture, trial::Origin::kCrossover, {3, 4}, 1};
  const auto start = choose_start(
      child,
      [&](trial::TrialNumber number) {
        return std::make_shared<const trial::CommittedTrial>(
            trial::CommittedTrial{number == 3 ? parent : other, trial::Measurements{}, {}});
      },
      true);
  EXPECT_EQ(std::get<trial::Inherit>(start).from, 3U) << "the first one";
  EXPECT_EQ(std::get<trial::Inherit>(start).share, 1);
}

class FolderRemoval : public FoldersOfTrials {
 protected:
  run::Commit add(const trial::Trial& trial, trial::Outcome outcome) {
    run::Commit commit{std::make_shared<const trial::CommittedTrial>(
        trial::CommittedTrial{trial, std::move(outcome), {}, state_.trials().size()})};
    state_.add(commit);
    return commit;
  }
  /// A commit of a trial that is not on the front, since a better one comes first.
  void commit(WeightsRemoval& removal, const trial::Trial& trial) {
    if (state_.trials().empty()) add(FolderRemoval::trial(100), trial::Measurements{{1, 0, 0}});
    removal.committed(add(trial, trial::Measurements{{0.5, 0, 0}}), state_);
  }
  trial::Trial rung(trial::TrialNumber number) {
    trial::Trial made = trial(number);
    made.proposal.horizon = {6};
    return made;
  }

  run::RunState state_{test_objectives()};
};

TEST_F(FolderRemoval, WaitsUntilNobodyMayContinueTheTrial) {
  for (const KeepWeights keep : {KeepWeights::kFront, KeepWeights::kNone}) {
    state_ = run::RunState(test_objectives());
    WeightsRemoval removal(files_, keep, 0, false, true);
    const fs::path folder = leave(folders_, rung(0));
    removal.asked(rung(0));
    commit(removal, rung(0));
    EXPECT_TRUE(is_there(folder));
    removal.released(rung(0));
    EXPECT_FALSE(is_there(folder.parent_path()));
  }
}

TEST_F(FolderRemoval, LooksForNoFolderOfATrialThatFailed) {
  for (const KeepWeights keep : {KeepWeights::kFront, KeepWeights::kAll, KeepWeights::kNone}) {
    state_ = run::RunState(test_objectives());
    WeightsRemoval removal(files_, keep, 0, true, true);
    const fs::path folder = leave(folders_, trial(0));
    removal.committed(add(trial(0), trial::Failure{}), state_);
    EXPECT_TRUE(is_there(folder)) << "who decides that it has failed removes it";
  }
}

TEST_F(FolderRemoval, WaitsForChildrenAndHappensAtOnceWithoutAny) {
  WeightsRemoval removal(files_, KeepWeights::kFront, 0, false, true);
  const fs::path parent = leave(folders_, trial(0));
  const fs::path other = leave(folders_, trial(1));
  removal.asked(trial(2, heritage(0)));
  commit(removal, trial(0));
  commit(removal, trial(1));
  EXPECT_TRUE(is_there(parent));
  EXPECT_FALSE(is_there(other));
  commit(removal, trial(2, heritage(0)));
  EXPECT_FALSE(is_there(parent));
}

TEST_F(FolderRemoval, InAReplayWaitsForItsEnd) {
  WeightsRemoval removal(files_, KeepWeights::kFront, 3, true, true);
  const fs::path folder = leave(folders_, trial(0));
  commit(removal, trial(0));
  EXPECT_TRUE(is_there(folder));
  commit(removal, trial(1));
  EXPECT_FALSE(is_there(folder));
}

}  // namespace
}  // namespace skyline::engine
