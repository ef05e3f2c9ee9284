#include "store/weights/checkpoint.hpp"

#include "skyline/core/error.hpp"

#include "store/fixtures/sample_checkpoint.hpp"
#include "store/hdf5/hdf5_image.hpp"
#include "store/hdf5/sealed_file.hpp"
#include "store/journal/trial_json.hpp"
#include "store/publish/publish.hpp"
#include "support/file_size_limit.hpp"
#include "support/scratch_folder.hpp"
#include "support/user_error_of.hpp"

#include <gmock/gmock.h>

namespace skyline::store {
namespace {

using skyline::testing::fault_error_of;
using skyline::testing::overwrite;
using skyline::testing::same_checkpoint;
using skyline::testing::sample_checkpoint;
using skyline::testing::sample_provenance;
using skyline::testing::sample_space;
using skyline::testing::sample_trial;
using skyline::testing::sample_trials;
using skyline::testing::ScratchFolder;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class Checkpoint : public ::testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(paths.checkpoints()); }
  std::filesystem::path file(const std::string& name) const { return paths.checkpoints() / name; }
  /// find_checkpoint, and what it writes to the log.
  std::optional<FoundCheckpoint> find(trial::TrialName trial = {17},
                                      const std::string& provenance = sample_provenance()) {
    ::testing::internal::CaptureStderr();
    std::optional<FoundCheckpoint> found = find_checkpoint(paths, trial, provenance);
    warnings = ::testing::internal::GetCapturedStderr();
    return found;
  }
  void damage(const std::string& name) const {
    std::string bytes = read_file(file(name));
    bytes[bytes.size() - 100] ^= 1;
    overwrite(file(name), bytes);
  }

  ScratchFolder folder;
  RunPaths paths{folder / "run"};
  std::string warnings;
};

TEST_F(Checkpoint, OfAHalfTrainedTrialReadsBackBitByBit) {
  EXPECT_FALSE(find().has_value());
  write_checkpoint(paths, sample_checkpoint(), 0);
  const auto found = find();
  ASSERT_TRUE(found.has_value());
  EXPECT_TRUE(same_checkpoint(found->checkpoint, sample_checkpoint()));
  EXPECT_EQ(found->next_sequence, 1u);
  EXPECT_THAT(warnings, IsEmpty());
}

TEST_F(Checkpoint, NamesTakeTurnsAndTheNewestIsFound) {
  for (const std::uint64_t sequence : {8u, 9u, 10u}) {
    write_checkpoint(paths, sample_checkpoint(100 * static_cast<std::int64_t>(sequence)), sequence);
    const auto found = find();
    EXPECT_EQ(found->checkpoint.state.step, 100 * static_cast<std::int64_t>(sequence));
    EXPECT_EQ(found->next_sequence, sequence + 1);
  }
  EXPECT_TRUE(store::exists(file("17.0.h5")) && store::exists(file("17.1.h5")));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(paths.checkpoints()), {}), 2);
}

TEST_F(Checkpoint, AttemptsShareNoNameAndTheNewestOfAllIsFound) {
  TrialCheckpoint again = sample_checkpoint(300);
  again.attempt = 1;
  write_checkpoint(paths, sample_checkpoint(100), 0);
  write_checkpoint(paths, again, 1);
  write_checkpoint(paths, sample_checkpoint(200), 1);  // checkpoint of a rank that only seemed lost
  EXPECT_TRUE(store::exists(file("17.3.h5")));
  again.state.step = 400;
  write_checkpoint(paths, again, 2);
  EXPECT_EQ(find()->checkpoint.state.step, 400);
  EXPECT_EQ(find()->next_sequence, 3U);
  remove_checkpoints(paths, {17}, kMostAttempts);
  EXPECT_FALSE(find());
}

TEST_F(Checkpoint, OneThatIsDamagedFallsBackToTheOneBeforeAndSaysSo) {
  write_checkpoint(paths, sample_checkpoint(100), 0);
  write_checkpoint(paths, sample_checkpoint(200), 1);
  damage("17.1.h5");
  const auto found = find();
  EXPECT_EQ(found->checkpoint.state.step, 100);
  EXPECT_EQ(found->next_sequence, 1u);
  EXPECT_THAT(warnings, AllOf(HasSubstr("trial 17: " + file("17.1.h5").string() + ": damaged: "),
                              HasSubstr("; going on from step 100 of 17.0.h5\n")));
}

TEST_F(Checkpoint, IfAllAreDamagedTheTrialStartsAgain) {
  write_checkpoint(paths, sample_checkpoint(100), 0);
  damage("17.0.h5");
  overwrite(file("17.1.h5"), "");
  EXPECT_FALSE(find().has_value());
  EXPECT_THAT(warnings, AllOf(HasSubstr("17.0.h5: damaged: "), HasSubstr("17.1.h5: the file is empty"),
                              HasSubstr("; training from the start\n")));
}

TEST_F(Checkpoint, OfAnotherTrialOrRunIsNotUsed) {
  write_checkpoint(paths, sample_checkpoint(), 0);
  EXPECT_FALSE(find({17}, store::provenance(sample_trial(), {"0.1.0", std::string(64, 'd')})).has_value());
  EXPECT_THAT(warnings, HasSubstr("the checkpoint of another trial"));
  using trial::Trial;
  for (const auto change :
       {+[](Trial& t) { t.proposal.trains = t.number; }, +[](Trial& t) { ++t.seed; },
        +[](Trial& t) { t.proposal.budget.epochs = 0.2; }, +[](Trial& t) { t.proposal.horizon.epochs = 9; },
        +[](Trial& t) { ++t.members; }, +[](Trial& t) { ++t.proposal.iteration; },
        +[](Trial& t) { t.proposal.parents = {3}; },
        +[](Trial& t) { t.proposal.origin = trial::Origin::kRandom; },
        +[](Trial& t) {
          t.proposal.architecture = sample_trials(sample_space(), 2)[1].trial.proposal.architecture;
        },
        +[](Trial& t) { std::get<trial::Inherit>(t.proposal.start).from = 5; },
        +[](Trial& t) { std::get<trial::Inherit>(t.proposal.start).share = 0.3; },
        +[](Trial& t) { t.proposal.start = trial::Continue{4}; },
        +[](Trial& t) {
          t.proposal.start = trial::Continue{4, 0, std::get<trial::Inherit>(t.proposal.start)};
        },
        +[](Trial& t) { t.proposal.start = trial::Fresh{}; }}) {
    Trial other = sample_trial();
    change(other);
    EXPECT_FALSE(find({17}, sample_provenance(other)).has_value());
  }
  Trial moved = sample_trial();
  std::get<trial::Inherit>(moved.proposal.start).holder = 3;
  EXPECT_TRUE(find({17}, sample_provenance(moved)).has_value()) << "it is the same trial";
  std::filesystem::rename(file("17.0.h5"), file("18.0.h5"));
  moved.number = 18;
  EXPECT_FALSE(find({18}, sample_provenance(moved)).has_value());
}

TEST_F(Checkpoint, OfANewerFormatIsNotUsed) {
  write_checkpoint(paths, sample_checkpoint(100), 0);
  Hdf5Image image(file("17.1.h5"), {.user_block = kSealBytes});
  const std::int64_t version = 5;
  image.write_attribute("/", "version", version);
  publish_sealed(image, "skyline-checkpoint");
  EXPECT_EQ(find()->checkpoint.state.step, 100);
  EXPECT_THAT(warnings,
              HasSubstr("17.1.h5: checkpoint of version 5, this program reads version 4; going on"));
}

TEST_F(Checkpoint, OnAFullDiskLeavesTheOneBefore) {
  write_checkpoint(paths, sample_checkpoint(100), 0);
  TrialCheckpoint large = sample_checkpoint(200);
  large.state.arrays[0].values.resize(100000);
  {
    const skyline::testing::FileSizeLimit limit(20000);
    EXPECT_EQ(fault_error_of([&] { write_checkpoint(paths, large, 1); }),
              "cannot write " + file("17.1.h5").string() +
                  ": write: File too large (limits of this process: 20000 bytes of a file, ulimit -f)");
  }
  EXPECT_EQ(find()->checkpoint.state.step, 100);
}

TEST_F(Checkpoint, IsRemovedWithTheOneBefore) {
  write_checkpoint(paths, sample_checkpoint(), 0);
  write_checkpoint(paths, sample_checkpoint(), 1);
  overwrite(file("171.0.h5"), "of another trial");
  remove_checkpoints(paths, {17});
  remove_checkpoints(paths, {17});
  EXPECT_FALSE(find().has_value());
  EXPECT_TRUE(store::exists(file("171.0.h5")));
}

}  // namespace
}  // namespace skyline::store
