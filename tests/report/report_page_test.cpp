#include "report/html/html_report.hpp"
#include "report/sample_run.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace skyline::report {
namespace {

using skyline::testing::SampleFolder;
using skyline::testing::SampleRun;
using ::testing::HasSubstr;
using ::testing::Not;

ReportedRun reported(const SampleFolder& folder, const SampleRun& sample) {
  ReportedRun run;
  run.name = "sample";
  run.state = "finished";
  run.opened.paths = folder.paths();
  run.opened.space = sample.space;
  run.opened.header.metrics = sample.metrics;
  run.opened.state = sample.state();
  return run;
}

/// The data block of a page.
nlohmann::json data_of(const std::string& page) {
  const std::string mark = R"(<script type="application/json" id="data">)";
  const std::size_t begin = page.find(mark) + mark.size();
  return nlohmann::json::parse(page.substr(begin, page.find("</script>", begin) - begin));
}

class ReportPage : public ::testing::Test {
 protected:
  SampleFolder folder;
  SampleRun sample;
  ReportedRun run = reported(folder, sample);
  std::string page() const { return report_page(std::span(&run, 1)); }
};

TEST_F(ReportPage, HasNoPlaceThatIsNotFilled) {
  EXPECT_THAT(page().substr(0, 4000), Not(HasSubstr("{{")));
  EXPECT_THAT(page(), Not(HasSubstr("{{data}}")));
}

TEST_F(ReportPage, AllowsItsOwnScriptsAndNoNetwork) {
  EXPECT_THAT(page(), ::testing::ContainsRegex("default-src 'none'; script-src 'sha256-[A-Za-z0-9+/]{43}=' "
                                               "'sha256-[A-Za-z0-9+/]{43}='"));
}

TEST_F(ReportPage, SaysWhatTheSearchSaysAboutItself) {
  run.opened.state.set_search_summary("a model of 6 results");
  EXPECT_EQ(data_of(page())["runs"][0]["versions"]["search"], "a model of 6 results");
}

TEST_F(ReportPage, HoldsTheTrialsAsColumns) {
  const auto trials = data_of(page())["runs"][0]["trials"];
  EXPECT_EQ(trials["number"], nlohmann::json({0, 1, 2, 3, 1, 0}));
  EXPECT_EQ(trials["final"], nlohmann::json({0, 0, 0, 0, 1, 1}));
  EXPECT_EQ(trials["status"][3], "diverged");
  EXPECT_EQ(trials["metrics"]["validation_accuracy"],
            nlohmann::json({0.5, 0.98125, 0.45, nullptr, 0.99, nullptr}));
  EXPECT_EQ(trials["parameters"][0]["name"], "depth");
  EXPECT_EQ(trials["parameters"][0]["choices"], nlohmann::json({0, 8, 1, 2, 8, 0}));
}

TEST_F(ReportPage, HoldsWhatTheSearchExpectedOfItsTrials) {
  EXPECT_FALSE(data_of(page())["runs"][0]["trials"].contains("expected"));
  sample.committed[2].trial.proposal.expected = trial::Expected{0.25, 0.5, 0.75};
  run = reported(folder, sample);
  EXPECT_EQ(data_of(page())["runs"][0]["trials"]["expected"],
            nlohmann::json({{"metric", "validation_accuracy"},
                            {"values", {nullptr, nullptr, {0.25, 0.5, 0.75}, nullptr, nullptr, nullptr}}}));
}

TEST_F(ReportPage, TellsFrontVolumeAndFailures) {
  const auto data = data_of(page())["runs"][0];
  EXPECT_EQ(data["front"], nlohmann::json({1, 0}));
  EXPECT_EQ(data["final_front"], nlohmann::json({1}));
  EXPECT_EQ(data["final_epochs"], 10);
  EXPECT_EQ(data["volume"]["trials"], nlohmann::json({1, 2, 3, 4}));
  EXPECT_EQ(data["test_metric"], "test_accuracy");
  EXPECT_EQ(data["described"]["validation_accuracy"]["higher"], true);
  EXPECT_EQ(data["described"]["flops"]["higher"], false);
  const auto volume = data["volume"]["volume"].get<std::vector<double>>();
  EXPECT_TRUE(std::ranges::is_sorted(volume));
  ASSERT_EQ(data["failures"].size(), 2U);
  EXPECT_EQ(data["failures"][0]["count"], 1);
  EXPECT_EQ(data["networks"].size(), 2U);
}

TEST_F(ReportPage, TellsWhichLayersShareTheBoxOfTheirInput) {
  const auto data = data_of(page());
  std::map<std::string, bool> follows;
  for (const auto& network : data["runs"][0]["networks"]) {
    for (const auto& layer : network["layers"]) follows[layer["kind"]] = layer["follows_input"];
  }
  EXPECT_EQ(follows, (std::map<std::string, bool>{{"batch_norm", true},
                                                  {"conv2d", false},
                                                  {"global_average_pool", false},
                                                  {"linear", false},
                                                  {"relu", true}}));
}

TEST_F(ReportPage, HasTheAnswersOfFullTrainingsWithPicturesUnlessTheyAreNotWanted) {
  const std::string start = R"({"version": 1, "samples": 4, "targets": "classes", "names": ["disc"])";
  run.answers = {{1, start + R"(, "worst": [{"sample": 3, "pixels": "ff8000"}]})"},
                 {2, start + R"(, "worst": [{"sample": 3, "pixels": "no digits"}]})"},
                 {3, R"({"version": 2})"},
                 {4, "{"},
                 {5, R"({"version": 1})"}};
  auto answers = data_of(page())["runs"][0]["answers"];
  EXPECT_EQ(answers.size(), 2U) << "damaged files and those of another version are left out";
  EXPECT_EQ(answers["1"]["names"][0], "disc");
  EXPECT_EQ(answers["1"]["worst"][0]["pixels"], "/4AA");
  EXPECT_FALSE(answers["2"]["worst"][0].contains("pixels"));
  run.shows_samples = false;
  answers = data_of(page())["runs"][0]["answers"];
  EXPECT_EQ(answers["1"]["worst"][0], nlohmann::json({{"sample", 3}}));
}

TEST_F(ReportPage, TellsHowRunsCompare) {
  EXPECT_TRUE(data_of(page())["comparison"].is_null());
  const auto comparison_of = [&](const ReportOptions& options) {
    return data_of(report_page(std::span(&run, 1), options))["comparison"];
  };
  EXPECT_EQ(comparison_of({.no_comparison = "other objectives"})["problem"], "other objectives");
  Comparison comparison;
  comparison.runs = {{&run.opened, {}, "a"}, {&run.opened, {}, "b"}};
  comparison.groups = {{"random", {0}}, {"evolution", {1}}};
  comparison.trials = 4;
  comparison.quantities = {
      {"hypervolume", {0.5, 0.75}, {{1, 0.5, {}}, {1, 0.75, 0.25}}, {{0, 1, {0, 0.03}}}}};
  const auto data = comparison_of({.comparison = comparison});
  EXPECT_EQ(data["groups"][1]["runs"], nlohmann::json({"b"}));
  EXPECT_TRUE(data["quantities"][0]["means"][0]["margin"].is_null());
  EXPECT_EQ(data["quantities"][0]["means"][1]["margin"], 0.25);
  EXPECT_EQ(data["quantities"][0]["tests"][0]["p"], 0.03);
}

TEST_F(ReportPage, CountsFailuresOfOneReasonTogether) {
  for (const std::uint64_t number : {10U, 11U}) {
    sample.committed.push_back(skyline::testing::make_trial(
        sample.space, {.number = number,
                       .choices = {2, 1, 0},
                       .outcome = trial::Failure{trial::FailureKind::kDiverged,
                                                 "the loss is NaN at step " + std::to_string(number)}}));
  }
  run = reported(folder, sample);
  const auto failures = data_of(page())["runs"][0]["failures"];
  EXPECT_EQ(failures[0]["reason"], "the loss is NaN at step 12");
  EXPECT_EQ(failures[0]["count"], 3);
  EXPECT_EQ(failures[0]["trials"], nlohmann::json({"3", "10", "11"}));
}

TEST_F(ReportPage, LetsNoTextEndItsElement) {
  run.config = "a: </script><script>alert(1)</script> <!-- \xff";
  const std::string text = page();
  EXPECT_THAT(text, Not(HasSubstr("alert(1)</script>")));
  EXPECT_THAT(data_of(text)["runs"][0]["config"].get<std::string>(),
              ::testing::StartsWith("a: </script><script>alert(1)</script> <!-- "));
}

TEST_F(ReportPage, OfARunWithoutTrialsIsMade) {
  sample.committed.clear();
  run = reported(folder, sample);
  const auto data = data_of(page())["runs"][0];
  EXPECT_TRUE(data["trials"]["number"].empty());
  EXPECT_TRUE(data["volume"]["volume"].empty());
  EXPECT_TRUE(data["importance"].empty());
}

TEST_F(ReportPage, ReloadsItselfWhileItIsWrittenAgain) {
  EXPECT_TRUE(data_of(page())["reload"].is_null());
  EXPECT_EQ(data_of(report_page(std::span(&run, 1), {.reload_s = 10}))["reload"], 10);
}

}  // namespace
}  // namespace skyline::report
