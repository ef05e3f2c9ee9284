#include "store/journal/known_values.hpp"

#include "store/fixtures/journal_fixture.hpp"
#include "store/fixtures/sample_run.hpp"
#include "store/journal/journal.hpp"
#include "store/journal/run_tables.hpp"
#include "store/journal/trial_json.hpp"
#include "store/publish/publish.hpp"
#include "support/scratch_folder.hpp"

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline::store {
namespace {

using skyline::testing::overwrite;
using skyline::testing::sample_header;
using skyline::testing::sample_trials;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

const double kNan = std::nan("");
const trial::EarlyValues::ByMetric kEarly{{"board_ms", 7.5},
                                          {"energy", -std::numeric_limits<double>::infinity()}};
const std::vector<trial::StepValues> kSteps{{1, {1.0 / 3, kNan}},
                                            {3, {-std::numeric_limits<double>::infinity(), 2}}};

class KnownValuesFile : public ::testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directories(paths.checkpoints());
    trial_.number = 17;
    write(trial_, {kEarly, kSteps});
  }
  void write(const trial::Trial& trial, const KnownValues& values) {
    write_known_values(paths, trial.name(), provenance(trial, {}), values, sample_header().metrics);
  }
  KnownValues read() {
    ::testing::internal::CaptureStderr();
    auto found = read_known_values(paths, {17}, provenance(trial_, {}), sample_header().metrics);
    warnings = ::testing::internal::GetCapturedStderr();
    return found;
  }

  skyline::testing::ScratchFolder folder;
  RunPaths paths{folder / "run"};
  std::filesystem::path file = paths.checkpoints() / "17.steps.json";
  const space::SearchSpace space_ = skyline::testing::sample_space();
  trial::Trial trial_ = sample_trials(space_, 1).front().trial;
  std::string warnings;
};

TEST_F(KnownValuesFile, ComesBackAsItWasWritten) {
  const KnownValues found = read();
  EXPECT_THAT(warnings, IsEmpty());
  EXPECT_EQ(found.early, kEarly);
  ASSERT_EQ(found.steps.size(), 2U);
  EXPECT_EQ(found.steps[0].step, 1);
  EXPECT_EQ(found.steps[0].values[0], 1.0 / 3);
  EXPECT_TRUE(std::isnan(found.steps[0].values[1]));
  EXPECT_EQ(found.steps[1].values, kSteps[1].values);
}

TEST_F(KnownValuesFile, IsAsBeforeIfNothingWasAsked) {
  write(trial_, {{}, kSteps});
  EXPECT_THAT(read_file(file), Not(HasSubstr("early")));
  EXPECT_EQ(read().steps.size(), 2U);
}

TEST_F(KnownValuesFile, IsIgnoredWithAWarningIfItIsDamagedOrOfAnotherTrial) {
  trial_.seed += 1;
  EXPECT_THAT(read().steps, IsEmpty());
  EXPECT_THAT(warnings, HasSubstr("17.steps.json: it is of another trial; the trial's programs are asked"));
  trial_.seed -= 1;
  std::string text = read_file(file);
  text[text.find("7.5")] = '8';
  overwrite(file, text);
  EXPECT_THAT(read().early, IsEmpty());
  EXPECT_THAT(warnings, HasSubstr("17.steps.json: checksum does not match"));
  for (const std::string short_text : {"", "\n", "{}"}) {
    overwrite(file, short_text);
    EXPECT_THAT(read().steps, IsEmpty());
  }
}

TEST_F(KnownValuesFile, GivesItsEarlyValuesToTheFullTrainingOfTheSameArchitecture) {
  trial::Trial full;
  skyline::testing::make_full_training(full, trial_);
  EXPECT_EQ(read_searched_values(paths, full), kEarly);
  full.proposal.architecture = sample_trials(space_, 2).back().trial.proposal.architecture;
  EXPECT_THAT(read_searched_values(paths, full), IsEmpty());
}

TEST_F(KnownValuesFile, IsRemovedAloneOrWithAllOthers) {
  trial::Trial other = trial_;
  other.number = 18;
  write(other, {});
  remove_known_values(paths, {17});
  remove_known_values(paths, {17});
  EXPECT_FALSE(store::exists(file));
  EXPECT_THAT(read().steps, IsEmpty());
  overwrite(paths.checkpoints() / "18.0.h5", "");
  remove_all_known_values(paths);
  EXPECT_FALSE(store::exists(paths.checkpoints() / "18.steps.json"));
  EXPECT_TRUE(store::exists(paths.checkpoints() / "18.0.h5"));
}

TEST_F(Journal, KeepsTheValuesAfterDeclaredStepsAndThatATrialWasPruned) {
  std::vector<trial::CommittedTrial> trials = sample_trials(space, 2);
  trials[0].outcome = trial::Measurements{{0.5, 3}, kSteps, trial::Extent::kWhole};
  trials[1].outcome = trial::Measurements{{0.25, kNan}, {{1, {0.25, kNan}}}, trial::Extent::kPruned};
  write(trials);
  EXPECT_EQ(json_of(2)["status"], "ok");
  EXPECT_EQ(json_of(2)["steps"][1].dump(),
            R"({"step":3,"metrics":{"validation_accuracy":"-inf","latency_ms":2.0}})");
  EXPECT_EQ(json_of(3)["status"], "pruned");
  EXPECT_EQ(json_of(3)["metrics"].dump(), R"({"validation_accuracy":0.25})");
  const JournalContents contents = read_journal(path, space);
  const auto whole = std::get<trial::Measurements>(contents.entries[0]->outcome);
  EXPECT_EQ(whole.extent, trial::Extent::kWhole);
  EXPECT_EQ(whole.steps[1].values, kSteps[1].values);
  EXPECT_EQ(status_of(*contents.entries[1]), "pruned");
}

TEST_F(Journal, RefusesStepsThatAreTooManyOrDoNotAscend) {
  write(sample_trials(space, 2));
  auto json = json_of(2);
  json["steps"] = {{{"step", 3}, {"metrics", nlohmann::json::object()}},
                   {{"step", 3}, {"metrics", nlohmann::json::object()}}};
  replace_line(2, json.dump());
  EXPECT_THAT(read_error(), HasSubstr("line 2: steps: expected ascending ones"));
  json["steps"] = std::vector<int>(17, 1);
  replace_line(2, json.dump());
  EXPECT_THAT(read_error(), HasSubstr("line 2: steps: expected a short list"));
  json["steps"] = {{{"step", 3}, {"metrics", {{"colour", 1}}}}};
  replace_line(2, json.dump());
  EXPECT_THAT(read_error(), HasSubstr("metrics: expected only those that the header names"));
}

TEST_F(Journal, SaysInItsHeaderThatTrialsMayBePruned) {
  JournalHeader header = sample_header();
  JournalWriter::create(path, header);
  EXPECT_FALSE(json_of(1).contains("pruning")) << "an older program reads it";
  std::filesystem::remove(path);
  header.pruning = true;
  JournalWriter::create(path, header);
  EXPECT_EQ(json_of(1)["pruning"], true);
  EXPECT_EQ(read_journal(path, space).header, header);
}

}  // namespace
}  // namespace skyline::store
