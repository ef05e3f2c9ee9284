#include "report/sample_run.hpp"
#include "report/tracking/mlflow_store.hpp"
#include "store/file_size_limit.hpp"
#include "store/publish/publish.hpp"
#include "support/user_error_of.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline::report {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;

class MlflowFolderTest : public ::testing::Test {
 protected:
  std::filesystem::path home(const std::string& experiment, const std::string& run) const {
    return folder_ / experiment / run;
  }
  static std::string meta(const std::filesystem::path& home) { return testing::text_of(home / "meta.yaml"); }

  testing::SampleFolder scratch_;
  const std::filesystem::path folder_ = scratch_.paths().root / "ml runs";
  std::unique_ptr<MlflowStore> store_ = make_mlflow_folder(folder_);
};

TEST_F(MlflowFolderTest, MakesARunInTheDefaultExperiment) {
  const std::string id =
      store_->create_run({.name = "it's", .user = "me", .start_ms = 1234, .tags = {{"a", "b"}}});
  EXPECT_THAT(id, MatchesRegex("[0-9a-f]{32}"));
  EXPECT_THAT(meta(folder_ / "0"), HasSubstr("name: 'Default'\n"));
  const std::string text = meta(home("0", id));
  EXPECT_THAT(text, HasSubstr("run_id: '" + id + "'\nrun_name: 'it''s'\nrun_uuid: '" + id + "'\n"));
  EXPECT_THAT(text, HasSubstr("start_time: 1234\nstatus: 1\n"));
  EXPECT_THAT(text, HasSubstr("/ml%20runs/0/" + id + "/artifacts'\nend_time: null\n"));
  EXPECT_EQ(testing::text_of(home("0", id) / "tags/a"), "b");
  EXPECT_EQ(testing::text_of(home("0", id) / "tags/mlflow.runName"), "it's");
}

TEST_F(MlflowFolderTest, AppendsMetricsAndReplacesTags) {
  const std::string id = store_->create_run({.name = "r"});
  const std::vector<store::MetricRecord> first{{0, 1.5, {{"trial/flops", 1e6}}}};
  const std::vector<store::MetricRecord> second{{1, 2, {{"trial/flops", 0.1}}}, {2, 3, {{"trial/flops", 7}}}};
  store_->log(id, {.metrics = first, .params = {{"p", "1"}}, .tags = {{"t", "long value"}}});
  store_->log(id, {.metrics = second, .tags = {{"t", "x"}}});
  EXPECT_EQ(testing::text_of(home("0", id) / "metrics/trial/flops"),
            "1500 1000000 0\n2000 0.1 1\n3000 7 2\n");
  EXPECT_EQ(testing::text_of(home("0", id) / "params/p"), "1");
  EXPECT_EQ(testing::text_of(home("0", id) / "tags/t"), "x");
}

TEST_F(MlflowFolderTest, TellsHowARunEndedAndThatItGoesOn) {
  const std::string id = store_->create_run({.name = "status: 9"});
  store_->set_status(id, MlflowStatus::kKilled, 99);
  EXPECT_THAT(meta(home("0", id)), HasSubstr("end_time: 99\n"));
  EXPECT_THAT(meta(home("0", id)), HasSubstr("\nstatus: 5\n"));
  store_->set_status(id, MlflowStatus::kRunning, 0);
  EXPECT_THAT(meta(home("0", id)), HasSubstr("end_time: null\n"));
  EXPECT_THAT(meta(home("0", id)), HasSubstr("\nstatus: 1\n"));
  EXPECT_THAT(meta(home("0", id)), HasSubstr("run_name: 'status: 9'\n"));
}

TEST_F(MlflowFolderTest, FindsAnExperimentByItsNameAndMakesItOnce) {
  const std::string first = store_->create_run({.experiment_name = "it's \"mine\"", .name = "a"});
  const std::string second =
      make_mlflow_folder(folder_)->create_run({.experiment_name = "it's \"mine\"", .name = "b"});
  std::size_t experiments = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
    ++experiments;
    EXPECT_TRUE(std::filesystem::exists(entry.path() / first / "meta.yaml"));
    EXPECT_TRUE(std::filesystem::exists(entry.path() / second / "meta.yaml"));
  }
  EXPECT_EQ(experiments, 1U);
}

TEST_F(MlflowFolderTest, KnowsWhichRunsItHas) {
  const std::string id = store_->create_run({.name = "r"});
  const auto other = make_mlflow_folder(folder_);
  EXPECT_TRUE(other->has_run(id));
  EXPECT_FALSE(other->has_run("0123"));
  EXPECT_THAT(testing::user_error_of([&] { other->log("0123", {}); }),
              HasSubstr("has no run 0123: check MLFLOW_RUN_ID"));
  EXPECT_THAT(testing::user_error_of([&] { other->create_run({.experiment_id = "12", .name = "r"}); }),
              HasSubstr("has no experiment 12: check MLFLOW_EXPERIMENT_ID"));
}

TEST_F(MlflowFolderTest, ARunThatWasDeletedIsNotGoneOnWith) {
  const std::string id = store_->create_run({.name = "r"});
  std::string text = meta(home("0", id));
  text.replace(text.find("lifecycle_stage: active"), 23, "lifecycle_stage: deleted");
  scratch_.write(home("0", id) / "meta.yaml", text);
  EXPECT_FALSE(store_->has_run(id));
}

TEST_F(MlflowFolderTest, ANewJobCutsATornLineOffAndLeavesTheStepsThatAreThere) {
  const std::string id = store_->create_run({.name = "r"});
  const std::vector<store::MetricRecord> records{{0, 1, {{"a", 5}}}, {1, 2, {{"a", 6}}}, {2, 3, {{"a", 7}}}};
  store_->log(id, {.metrics = std::span(records).first(2)});
  const auto file = home("0", id) / "metrics/a";
  std::filesystem::resize_file(file, std::filesystem::file_size(file) - 3);
  make_mlflow_folder(folder_)->log(id, {.metrics = records});
  EXPECT_EQ(testing::text_of(file), "1000 5 0\n2000 6 1\n3000 7 2\n");
}

TEST_F(MlflowFolderTest, WhatIsGivenAgainAfterAFailureIsWrittenOnce) {
  const std::string id = store_->create_run({.name = "r"});
  const std::vector<store::MetricRecord> records{{0, 1, {{"a", 5}, {"b/c", 6}}}};
  scratch_.write(home("0", id) / "metrics/b", "a file");
  EXPECT_THROW(store_->log(id, {.metrics = records}), SinkAway);
  std::filesystem::remove(home("0", id) / "metrics/b");
  store_->log(id, {.metrics = records});
  EXPECT_EQ(testing::text_of(home("0", id) / "metrics/a"), "1000 5 0\n");
  EXPECT_EQ(testing::text_of(home("0", id) / "metrics/b/c"), "1000 6 0\n");
}

TEST_F(MlflowFolderTest, AFullDiskLeavesNoTornLine) {
  const std::string id = store_->create_run({.name = "r"});
  const std::vector<store::MetricRecord> records{{0, 1, {{"a", 5}}}, {1, 2, {{"a", 6}}}};
  store_->log(id, {.metrics = std::span(records).first(1)});
  {
    const testing::FileSizeLimit limit(12);
    EXPECT_THROW(store_->log(id, {.metrics = records}), SinkAway);
    EXPECT_EQ(testing::text_of(home("0", id) / "metrics/a"), "1000 5 0\n");
  }
  store_->log(id, {.metrics = records});
  EXPECT_EQ(testing::text_of(home("0", id) / "metrics/a"), "1000 5 0\n2000 6 1\n");
}

TEST_F(MlflowFolderTest, AFolderThatCannotBeWrittenMayComeBack) {
  const std::string id = store_->create_run({.name = "r"});
  std::filesystem::rename(home("0", id) / "metrics", home("0", id) / "away");
  testing::SampleFolder().write(home("0", id) / "metrics", "a file");
  const std::vector<store::MetricRecord> records{{0, 1, {{"trial/flops", 1}}}};
  EXPECT_THROW(store_->log(id, {.metrics = records}), SinkAway);
}

}  // namespace
}  // namespace skyline::report
