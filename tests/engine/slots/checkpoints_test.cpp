#include "engine/slots/checkpoints.hpp"

#include "engine/fixtures/engine_rig.hpp"
#include "engine/slots/result_keeper.hpp"
#include "support/short_patience.hpp"

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline::engine {
namespace {

constexpr double kAnyOverhead = 1e9;

/// A slot's checkpoints over a run folder of its own.
class SlotCheckpointsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directories(paths_.checkpoints());
    trial_.number = 6;
    trial_.proposal.budget.epochs = 10;
    trial_.seed = 77;
    trial_.proposal.architecture =
        std::make_shared<const space::Architecture>(test_space().build(test_space().genotype_at(3)));
  }
  /// A slot of a job with these options.
  SlotCheckpoints slot(std::optional<CheckpointOptions> options, bool resume = false) {
    store::JournalHeader header;
    header.config_hash = "abc";
    const RunFiles files{paths_, header, storage_};
    return {std::make_shared<CheckpointFolder>(files, options, resume), stop_};
  }
  static CheckpointOptions every_epoch() {
    return {.interval_s = {}, .interval_epochs = 1, .most_overhead = kAnyOverhead};
  }
  static std::function<void(trial::TrainingState&)> at_step(std::int64_t step) {
    return [step](trial::TrainingState& state) { state.step = step; };
  }
  std::size_t files() {
    storage_.drain();
    const std::filesystem::directory_iterator all(paths_.checkpoints());
    return static_cast<std::size_t>(std::distance(begin(all), end(all)));
  }
  /// Keeps the storage thread busy until the promise is kept.
  std::promise<void> occupy_storage() {
    std::promise<void> done;
    storage_.submit([busy = std::make_shared<std::future<void>>(done.get_future())] { busy->wait(); });
    return done;
  }

  ScratchFolder folder_;
  store::RunPaths paths_{folder_.path()};
  store::StorageThread storage_;
  std::atomic<bool> stop_{false};
  trial::Trial trial_;
};

TEST_F(SlotCheckpointsTest, AreDueOncePerInterval) {
  SlotCheckpoints checkpoints = slot(every_epoch());
  checkpoints.begin(trial_);
  EXPECT_FALSE(checkpoints.due(0.9));
  EXPECT_TRUE(checkpoints.due(1.1));
  checkpoints.save(at_step(11));
  EXPECT_FALSE(checkpoints.due(2.0));
  EXPECT_TRUE(checkpoints.due(2.1));
}

TEST_F(SlotCheckpointsTest, AreDueByTheClock) {
  SlotCheckpoints often =
      slot(CheckpointOptions{.interval_s = 0, .interval_epochs = {}, .most_overhead = kAnyOverhead});
  often.begin(trial_);
  EXPECT_TRUE(often.due(0.1));
  SlotCheckpoints seldom =
      slot(CheckpointOptions{.interval_s = 3600, .interval_epochs = {}, .most_overhead = kAnyOverhead});
  seldom.begin(trial_);
  EXPECT_FALSE(seldom.due(9));
}

TEST_F(SlotCheckpointsTest, AreLeftOutWhereCopyingCostsTooMuch) {
  CheckpointOptions options = every_epoch();
  options.most_overhead = 1e-9;
  SlotCheckpoints checkpoints = slot(options);
  checkpoints.begin(trial_);
  EXPECT_TRUE(checkpoints.due(1));
  checkpoints.save(at_step(1));
  EXPECT_FALSE(checkpoints.due(2)) << "the first has cost far more than a billionth of the time";
}

TEST_F(SlotCheckpointsTest, AreLeftOutWhileBothBuffersAreUnderWay) {
  SlotCheckpoints checkpoints = slot(every_epoch());
  checkpoints.begin(trial_);
  std::promise<void> free = occupy_storage();
  for (int epoch = 1; epoch <= 2; ++epoch) {
    EXPECT_TRUE(checkpoints.due(epoch));
    checkpoints.save(at_step(epoch));
  }
  EXPECT_FALSE(checkpoints.due(3));
  bool filled = false;
  checkpoints.save([&](trial::TrainingState&) { filled = true; });
  EXPECT_FALSE(filled);
  free.set_value();
  storage_.drain();
  EXPECT_TRUE(checkpoints.due(3));
}

TEST_F(SlotCheckpointsTest, WaitForABufferAtAStop) {
  SlotCheckpoints checkpoints = slot(every_epoch());
  checkpoints.begin(trial_);
  std::promise<void> free = occupy_storage();
  checkpoints.save(at_step(1));
  checkpoints.save(at_step(2));
  stop_ = true;
  auto last = std::async(std::launch::async, [&] { checkpoints.save(at_step(3)); });
  free.set_value();
  last.get();
  storage_.drain();
  SlotCheckpoints later = slot(every_epoch(), true);
  later.begin(trial_);
  ASSERT_NE(later.saved(), nullptr);
  EXPECT_EQ(later.saved()->step, 3);
}

TEST_F(SlotCheckpointsTest, BesideAResultThatIsHandedInGoWhenThatIsInTheJournal) {
  SlotCheckpoints checkpoints = slot(every_epoch());
  checkpoints.begin(trial_);
  checkpoints.save(at_step(1));
  const RunFiles files_of_run{paths_, {}, storage_};
  ResultKeeper keeper(files_of_run, test_space(), 0, {});
  keeper.leaves_checkpoint(trial_.name());
  keeper.journalled(std::vector<trial::TrialName>{{trial_.number + 1}});
  EXPECT_EQ(files(), 1U);
  keeper.journalled(std::vector<trial::TrialName>{trial_.name()});
  EXPECT_EQ(files(), 0U);
}

TEST_F(SlotCheckpointsTest, AreFoundByALaterJobAloneAndOfTheSameTrialAlone) {
  SlotCheckpoints first = slot(every_epoch());
  first.begin(trial_);
  first.save(at_step(4));
  storage_.drain();
  SlotCheckpoints anew = slot(every_epoch(), false);
  anew.begin(trial_);
  EXPECT_EQ(anew.saved(), nullptr);
  SlotCheckpoints later = slot(every_epoch(), true);
  later.begin(trial_);
  ASSERT_NE(later.saved(), nullptr);
  EXPECT_EQ(later.saved()->step, 4);
  trial::Trial other = trial_;
  other.seed = 78;
  later.begin(other);
  EXPECT_EQ(later.saved(), nullptr);
  other = trial_;
  other.members = 2;
  later.begin(other);
  EXPECT_EQ(later.saved(), nullptr);
}

TEST_F(SlotCheckpointsTest, GoOnCountingWhereTheEarlierJobEnded) {
  SlotCheckpoints first = slot(every_epoch());
  first.begin(trial_);
  first.save(at_step(1));
  storage_.drain();
  for (std::int64_t step = 2; step < 5; ++step) {
    SlotCheckpoints later = slot(every_epoch(), true);
    later.begin(trial_);
    ASSERT_NE(later.saved(), nullptr);
    EXPECT_EQ(later.saved()->step, step - 1);
    later.save(at_step(step));
    storage_.drain();
  }
  EXPECT_EQ(files(), 2U);
}

TEST_F(SlotCheckpointsTest, ThatCannotBeWrittenDoNotEndTheRun) {
  std::filesystem::remove_all(paths_.checkpoints());
  SlotCheckpoints checkpoints = slot(every_epoch());
  checkpoints.begin(trial_);
  ::testing::internal::CaptureStderr();
  for (int i = 0; i < 5; ++i) {
    checkpoints.save(at_step(i));
    EXPECT_NO_THROW(storage_.drain());
  }
  const std::string warnings = ::testing::internal::GetCapturedStderr();
  const std::string text = "a checkpoint is left out: ";
  const std::size_t first = warnings.find(text);
  ASSERT_NE(first, std::string::npos);
  EXPECT_EQ(warnings.find(text, first + 1), std::string::npos) << "once a minute";
}

TEST_F(SlotCheckpointsTest, ThatFindNoMemoryAreLeftOutAndGiveTheirBufferBack) {
  SlotCheckpoints checkpoints = slot(every_epoch());
  checkpoints.begin(trial_);
  ::testing::internal::CaptureStderr();
  for (int epoch = 1; epoch <= 3; ++epoch) {
    EXPECT_TRUE(checkpoints.due(epoch));
    EXPECT_NO_THROW(checkpoints.save([](trial::TrainingState&) { throw std::bad_alloc(); }));
  }
  EXPECT_THAT(::testing::internal::GetCapturedStderr(),
              ::testing::HasSubstr("a checkpoint is left out: trial 6: std::bad_alloc"));
  EXPECT_FALSE(checkpoints.all_is_saved());
  EXPECT_TRUE(checkpoints.due(4));
  checkpoints.save(at_step(4));
  EXPECT_TRUE(checkpoints.all_is_saved());
  EXPECT_EQ(files(), 1U);
}

TEST_F(SlotCheckpointsTest, FreeTheStateThatWasFoundAtTheFirstStep) {
  SlotCheckpoints first = slot(every_epoch());
  first.begin(trial_);
  first.save(at_step(4));
  storage_.drain();
  SlotCheckpoints later = slot(every_epoch(), true);
  later.begin(trial_);
  ASSERT_NE(later.saved(), nullptr);
  later.due(5);
  EXPECT_EQ(later.saved(), nullptr);
  EXPECT_TRUE(later.has_files());
}

TEST_F(SlotCheckpointsTest, KnowWhetherTheTrialsLastStateIsSaved) {
  SlotCheckpoints checkpoints = slot(every_epoch());
  checkpoints.begin(trial_);
  EXPECT_TRUE(checkpoints.all_is_saved()) << "it has not begun";
  checkpoints.due(0.5);
  EXPECT_FALSE(checkpoints.all_is_saved());
  checkpoints.save(at_step(4));
  EXPECT_TRUE(checkpoints.all_is_saved());
  checkpoints.due(0.6);
  EXPECT_FALSE(checkpoints.all_is_saved());
  std::filesystem::remove_all(paths_.checkpoints());
  checkpoints.save(at_step(4));
  EXPECT_TRUE(checkpoints.all_is_saved()) << "nothing new since the one that was written";
  checkpoints.save(at_step(5));
  EXPECT_FALSE(checkpoints.all_is_saved());
}

TEST_F(SlotCheckpointsTest, AreNotWrittenWhereNoneAreWanted) {
  SlotCheckpoints checkpoints = slot(std::nullopt);
  checkpoints.begin(trial_);
  stop_ = true;
  EXPECT_FALSE(checkpoints.due(5));
  checkpoints.save(at_step(1));
  EXPECT_FALSE(checkpoints.result_worth_keeping());
  EXPECT_EQ(files(), 0U);
}

/// Trial 6 has 10 of 40 epochs and may be continued; trial 9 continues it.
class KeptStates : public SlotCheckpointsTest {
 protected:
  void SetUp() override {
    SlotCheckpointsTest::SetUp();
    trial_.proposal.horizon.epochs = 40;
  }
  trial::Trial continuing(int holder = -1) const {
    trial::Trial trial = trial_;
    trial.number = 9;
    trial.proposal.budget.epochs = 20;
    trial.proposal.start = trial::Continue{.from = 6, .epochs = 10, .began = {}, .holder = holder};
    return trial;
  }
  void keep(std::int64_t step) {
    SlotCheckpoints checkpoints = slot(every_epoch());
    checkpoints.begin(trial_);
    EXPECT_FALSE(checkpoints.keeps_last());
    checkpoints.save_last(at_step(step));
    storage_.drain();
  }
  /// The step that trial 9 would go on from; -1: it has no state.
  static std::int64_t saved_step(SlotCheckpoints& checkpoints, const trial::Trial& trial) {
    checkpoints.begin(trial);
    return checkpoints.saved() == nullptr ? -1 : checkpoints.saved()->step;
  }
  static run::Commit commit_of(const trial::Trial& trial, bool replayed = false) {
    return {std::make_shared<const trial::CommittedTrial>(
                trial::CommittedTrial{trial, trial::Measurements{}, {}}),
            replayed};
  }
};

TEST_F(KeptStates, AreWhereATrialThatContinuesAnotherBegins) {
  keep(100);
  SlotCheckpoints checkpoints = slot(every_epoch());
  EXPECT_EQ(saved_step(checkpoints, continuing()), 100);
  EXPECT_FALSE(checkpoints.has_files());
  EXPECT_EQ(saved_step(checkpoints, trial_), -1) << "it is not its own state";
  SlotCheckpoints without = slot({});
  EXPECT_EQ(saved_step(without, continuing()), 100);
}

TEST_F(KeptStates, GiveWayToACheckpointOfTheTrialItself) {
  keep(100);
  SlotCheckpoints checkpoints = slot(every_epoch());
  checkpoints.begin(continuing());
  checkpoints.save(at_step(120));
  storage_.drain();
  SlotCheckpoints resumed = slot(every_epoch(), true);
  EXPECT_EQ(saved_step(resumed, continuing()), 120);
  EXPECT_TRUE(resumed.has_files());
}

TEST_F(KeptStates, OfATrialThatNobodyMayContinueAreNotWritten) {
  trial_.proposal.horizon = {};
  keep(100);
  EXPECT_EQ(files(), 0U);
}

TEST_F(KeptStates, OfAnotherTrainingAreNotUsed) {
  keep(100);
  for (const auto& change : {+[](trial::Trial& t) { ++t.seed; }, +[](trial::Trial& t) { t.members = 2; },
                             +[](trial::Trial& t) { t.proposal.horizon.epochs = 41; }}) {
    trial::Trial other = continuing();
    change(other);
    SlotCheckpoints checkpoints = slot(every_epoch());
    ::testing::internal::CaptureStderr();
    EXPECT_EQ(saved_step(checkpoints, other), -1);
    EXPECT_THAT(
        ::testing::internal::GetCapturedStderr(),
        ::testing::ContainsRegex("trial 9: the state that trial 6 kept cannot be used: .*6.kept.h5: the "
                                 "checkpoint of another trial.*; training from the start"));
  }
}

TEST_F(KeptStates, ThatCannotBeWrittenDoNotEndTheRun) {
  std::filesystem::remove_all(paths_.checkpoints());
  ::testing::internal::CaptureStderr();
  keep(100);
  EXPECT_THAT(::testing::internal::GetCapturedStderr(),
              ::testing::HasSubstr("trial 6: the state for trials that continue it is not kept: "));
}

TEST_F(KeptStates, OfAnotherRankAreWaitedForUntilTheyShow) {
  SlotCheckpoints checkpoints = slot(every_epoch());
  auto begun = std::async(std::launch::async, [&] { return saved_step(checkpoints, continuing(3)); });
  EXPECT_NE(begun.wait_for(std::chrono::milliseconds(50)), std::future_status::ready);
  keep(100);
  EXPECT_EQ(begun.get(), 100);
}

TEST_F(KeptStates, OfAnotherRankAreNotWaitedForBeyondTheStoragesPatienceOrAfterAStop) {
  ::testing::internal::CaptureStderr();
  {
    const testing::ShortPatience patience(0.02);
    SlotCheckpoints checkpoints = slot(every_epoch());
    EXPECT_EQ(saved_step(checkpoints, continuing(3)), -1);
  }
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), ::testing::HasSubstr("kept is not there; training"));
  SlotCheckpoints checkpoints = slot(every_epoch());
  auto begun = std::async(std::launch::async, [&] { return saved_step(checkpoints, continuing(3)); });
  EXPECT_NE(begun.wait_for(std::chrono::milliseconds(50)), std::future_status::ready);
  stop_ = true;
  EXPECT_EQ(begun.get(), -1);
}

TEST_F(KeptStates, AreRemovedWhenTheyAreReleasedByThisJobOrTheNext) {
  const RunFiles files_of_run{paths_, {}, storage_};
  for (const bool resumed : {false, true}) {
    keep(100);
    const auto folder = std::make_shared<CheckpointFolder>(files_of_run, every_epoch(), resumed);
    folder->started({});
    folder->committed(commit_of(trial_, resumed), {});
    folder->committed(commit_of(continuing()), {});
    EXPECT_EQ(files(), 1U);
    folder->released(trial_);
    folder->released(continuing());
    EXPECT_EQ(files(), 0U);
  }
}

TEST_F(KeptStates, AndSuspectsThatCannotBeRemovedDoNotEndTheRun) {
  for (const char* name : {"6.kept.h5", "6.suspect"}) {  // a folder is not removed like a file
    std::filesystem::create_directories(paths_.checkpoints() / name / "any");
  }
  const auto running = std::make_shared<store::RunningTrials>(paths_, 0, 1, "job", "");
  running->begins(0, trial_.name());
  const auto folder_of = [&] {
    return std::make_shared<CheckpointFolder>(RunFiles{paths_, {}, storage_}, every_epoch(), true, 0,
                                              running);
  };
  ::testing::internal::CaptureStderr();
  const auto first = folder_of();
  first->started({});
  first->released(trial_);
  storage_.drain();
  folder_of()->advanced(trial_.name());
  EXPECT_THAT(::testing::internal::GetCapturedStderr(),
              ::testing::AllOf(::testing::HasSubstr("the state that trial 6 kept cannot be removed: "),
                               ::testing::HasSubstr("trial 6 stays suspected of ending jobs: ")));
}

}  // namespace
}  // namespace skyline::engine
