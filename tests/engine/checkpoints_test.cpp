#include "engine/slots/checkpoints.hpp"

#include "engine/engine_rig.hpp"

#include <atomic>
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

  TemporaryFolder folder_;
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

}  // namespace
}  // namespace skyline::engine
