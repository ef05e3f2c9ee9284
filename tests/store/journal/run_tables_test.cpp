#include "store/journal/run_tables.hpp"

#include "skyline/core/error.hpp"

#include "store/fixtures/sample_run.hpp"
#include "store/hdf5/hdf5_image.hpp"
#include "store/hdf5/hdf5_reader.hpp"
#include "store/hdf5/sealed_file.hpp"
#include "store/hdf5/table.hpp"
#include "store/publish/publish.hpp"
#include "support/commit_log_of.hpp"
#include "support/scratch_folder.hpp"
#include "support/user_error_of.hpp"
#include "support/yaml_config.hpp"

#include <gmock/gmock.h>

namespace skyline::store {
namespace {

using skyline::testing::sample_space;
using skyline::testing::ScratchFolder;
using skyline::testing::user_error_of;
using ::testing::ElementsAre;
using ::testing::IsNan;

trial::CommitLog sample_log(const space::SearchSpace& space, std::size_t count) {
  return skyline::testing::commit_log_of(skyline::testing::sample_trials(space, count));
}

// formats_test.py checks the contents of the table, with h5py and pandas.
class RunTables : public ::testing::Test {
 protected:
  ScratchFolder folder;
  std::filesystem::path path = folder / "run.h5";
  space::SearchSpace space = sample_space();
  std::vector<trial::Metric> metrics = skyline::testing::sample_header().metrics;
};

TEST_F(RunTables, HasARowForEveryTrial) {
  for (const std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{17}}) {
    write_run_tables(path, sample_log(space, count), std::vector<bool>(count), metrics, space, "seed: 1\n",
                     {{.host = "node1"}, {.slot = 1, .host = "node1", .trials = 17}});
    const std::string file = read_file(path);
    const Hdf5Reader reader(std::as_bytes(std::span(file)).subspan(kSealBytes), path);
    EXPECT_EQ(reader.array_dims("trials"), std::vector{static_cast<std::int64_t>(count)});
    EXPECT_EQ(reader.array_dims("slots"), std::vector{std::int64_t{2}});
    EXPECT_EQ(reader.text_attribute("format"), "skyline-run");
    EXPECT_EQ(reader.text_attribute("config"), "seed: 1\n");
  }
}

TEST_F(RunTables, EqualRunsAreEqualFiles) {
  const auto trials = sample_log(space, 5);
  write_run_tables(path, trials, std::vector<bool>(5), metrics, space, "", {});
  const std::string first = read_file(path);
  write_run_tables(path, trials, std::vector<bool>(5), metrics, space, "", {});
  EXPECT_EQ(read_file(path), first);
}

TEST_F(RunTables, NeedsAFlagForEveryTrial) {
  EXPECT_THROW(write_run_tables(path, sample_log(space, 2), {true}, metrics, space, "", {}), InternalError);
}

TEST_F(RunTables, GiveTheAccountOfAllJobsBack) {
  const std::vector<SlotAccount> slots{
      {.job = 1, .rank = 2, .slot = 3, .host = "n1", .trials = 4, .setup_s = 0.5},
      {.job = 2,
       .host = "node22",
       .processor = "AMD EPYC 7763",
       .program = "0.1.0, commit 96ab6c3b0c1d",
       .train_s = 1,
       .validate_s = 2,
       .latency_s = 3,
       .wait_work_s = 4,
       .wait_device_s = 5,
       .wait_files_s = 6,
       .wait_ranks_s = 7}};
  write_run_tables(path, sample_log(space, 1), {true}, metrics, space, "", slots);
  EXPECT_EQ(read_run_tables(path).slots, slots);
  EXPECT_THAT(read_run_tables(path).started_s, ElementsAre(sample_log(space, 1)[0]->timing.started_s));
  write_run_tables(path, {}, {}, metrics, space, "", {});
  EXPECT_TRUE(read_run_tables(path).slots.empty());
}

TEST_F(RunTables, OfEarlierVersionsNameNoProgramsAndProcessors) {
  Hdf5Image image(path, {.user_block = kSealBytes});
  image.write_attribute("/", "version", std::int64_t{8});
  const SlotAccount slot{.rank = 1, .host = "n1", .trials = 4};
  const Table::Rows rows = [&](Table& table) {
    for_each_cell(slot, [&](const std::string& name, const auto& value) {
      if (name != "processor" && name != "program") table(name, value);
    });
    table.end_row();
  };
  Table::write(image, "slots", rows, rows);
  const Table::Rows trials = [](Table& table) {
    table("started_s", 0.5);
    table.end_row();
  };
  Table::write(image, "trials", trials, trials);
  publish_sealed(image, "skyline-run");
  EXPECT_THAT(read_run_tables(path).slots, ElementsAre(slot));
}

TEST_F(RunTables, HaveTheCoursesOfCommittedTrials) {
  std::vector<trial::CommittedTrial> trials = skyline::testing::sample_trials(space, 3);
  trial::CommittedTrial full = trials[1];
  full.trial.proposal.trains = 1;
  for (const double epochs : {50, 60}) {  // trained a second time, with another budget
    full.trial.proposal.budget = {epochs};
    full.position = trials.size();
    trials.push_back(full);
    full.timing.started_s += 30;
  }
  const double first_s = trials[3].timing.started_s;
  const std::vector<std::string> names{"train_loss", "reward"};
  const LearningCurves courses{{{{1, true}, first_s}, {names, {10, 20}, {0.5, 7, 0.25, 8}}},
                               {{{1, true}, first_s + 10}, {names, {7}, {1, 1}}},  // its result was lost
                               {{{1, true}, first_s + 30}, {{"train_loss"}, {40}, {0.125}}},
                               {{{99}, 0}, {names, {10}, {1, 1}}}};
  write_run_tables(path, skyline::testing::commit_log_of(trials), std::vector<bool>(5), metrics, space, "",
                   {}, courses);
  const std::string file = read_file(path);
  const Hdf5Reader reader(std::as_bytes(std::span(file)).subspan(kSealBytes), path);
  EXPECT_EQ(reader.numbers("course", "number"), (std::vector<double>{1, 1, 1}));
  EXPECT_EQ(reader.numbers("course", "position"), (std::vector<double>{3, 3, 4}));
  EXPECT_EQ(reader.numbers("course", "step"), (std::vector<double>{10, 20, 40}));
  EXPECT_EQ(reader.numbers("course", "train_loss"), (std::vector<double>{0.5, 0.25, 0.125}));
  EXPECT_THAT(reader.numbers("course", "reward"), ElementsAre(7, 8, IsNan()));
}

TEST_F(RunTables, HaveNanOrAnEmptyTextForNull) {
  const space::SearchSpace nullable = space::SearchSpace::parse(
      skyline::testing::config_from_yaml(
          "parameters: {depth: {choice: [null, 5]}, word: {choice: [null, a]}}", "a.yaml", "space"),
      {});
  std::vector<trial::CommittedTrial> trials(2);
  for (std::uint32_t i = 0; i < 2; ++i) {
    trials[i].position = trials[i].trial.number = i;
    trials[i].trial.proposal.architecture =
        std::make_shared<const space::Architecture>(nullable.build(space::Genotype{{i, i}}));
    trials[i].outcome = trial::Failure{};
  }
  write_run_tables(path, skyline::testing::commit_log_of(trials), {false, false}, metrics, nullable, "", {});
  const std::string file = read_file(path);
  const Hdf5Reader reader(std::as_bytes(std::span(file)).subspan(kSealBytes), path);
  EXPECT_THAT(reader.numbers("trials", "depth"), ElementsAre(IsNan(), 5));
  EXPECT_THAT(reader.texts("trials", "word"), ElementsAre("", "a"));
}

TEST_F(RunTables, OfAnotherVersionAreRefused) {
  const std::int64_t version = 2;
  Hdf5Image image(path, {.user_block = kSealBytes});
  image.write_attribute("/", "version", version);
  publish_sealed(image, "skyline-run");
  EXPECT_EQ(user_error_of([&] { read_run_tables(path); }),
            path.string() + ": tables of a run of version 2, this program reads version 8");
}

// The HDF5 library ends the process at some of them.
TEST_F(RunTables, ThatAreDamagedAreRefusedBeforeTheHdf5LibrarySeesThem) {
  write_run_tables(path, sample_log(space, 3), std::vector<bool>(3), metrics, space, "", {});
  std::string file = read_file(path);
  file[file.size() / 2] ^= 1;
  publish_file(path, file);
  EXPECT_THAT(user_error_of([&] { read_run_tables(path); }),
              ::testing::StartsWith(path.string() + ": damaged"));
  publish_file(path, file.substr(0, 3000));
  EXPECT_THAT(user_error_of([&] { read_run_tables(path); }),
              ::testing::StartsWith(path.string() + ": truncated"));
}

TEST_F(RunTables, WithACellOutOfBoundsAreRefused) {
  write_run_tables(path, {}, {}, metrics, space, "", {{.rank = -1}});
  EXPECT_EQ(user_error_of([&] { read_run_tables(path); }),
            path.string() + ": slots: rank: expected at least 0 and at most 2147483647");
}

}  // namespace
}  // namespace skyline::store
