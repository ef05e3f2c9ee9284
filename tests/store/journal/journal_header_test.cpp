#include "skyline/core/config_node.hpp"

#include "store/fixtures/journal_fixture.hpp"
#include "store/fixtures/sample_run.hpp"
#include "store/journal/journal.hpp"
#include "store/publish/publish.hpp"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

namespace skyline::store {
namespace {

using skyline::testing::sample_header;
using ::testing::ElementsAre;
using trial::Better;
using trial::Metric;

/// A header with metrics that have every part of a description.
JournalHeader described_header() {
  JournalHeader header = sample_header();
  header.metrics = {{.name = "plain"},
                    {.name = "drift",
                     .better = Better::kLower,
                     .range = {-0.5, 1.0 / 3},
                     .unit = "µm",
                     .when = Metric::When::kFullTraining,
                     .of = Metric::Of::kTest,
                     .ideal = 0.25,
                     .has_course = true,
                     .repeats = "plain"},
                    {.name = "rate", .range = {.low = 0}, .of = Metric::Of::kTrain}};
  return header;
}

class AJournalHeader : public Journal {
 protected:
  void write_header(const JournalHeader& header) { JournalWriter::create(path, header); }
  JournalHeader read() const { return read_journal(path, space).header; }
  /// The error of a header in which a change was made.
  template <typename Change>
  std::string error_with(Change change) {
    std::filesystem::remove(path);
    write_header(described_header());
    auto json = json_of(1);
    change(json);
    replace_line(1, json.dump());
    return read_error();
  }
};

TEST_F(AJournalHeader, KeepsTheWholeDescriptionOfEachMetric) {
  write_header(described_header());
  EXPECT_EQ(read(), described_header());
}

TEST_F(AJournalHeader, LeavesOutWhatIsAsByDefault) {
  write_header(described_header());
  const auto json = json_of(1);
  EXPECT_EQ(json["metrics"][0].dump(), R"({"name":"plain","better":"higher"})");
  EXPECT_EQ(json["metrics"][2].dump(), R"({"name":"rate","better":"higher","low":0.0,"of":"train"})");
  EXPECT_FALSE(json.contains("device"));
  EXPECT_FALSE(json.contains("programs"));
}

TEST_F(AJournalHeader, SaysByWhichRulesConditionsAreRead) {
  JournalHeader header = sample_header();
  write_header(header);
  EXPECT_FALSE(json_of(1).contains("conditions"));
  std::filesystem::remove(path);
  header.conditions = space::ConditionRules::kExact;
  write_header(header);
  EXPECT_EQ(json_of(1)["conditions"], "exact");
  EXPECT_EQ(read(), header);
  EXPECT_EQ(error_with([](auto& json) { json["conditions"] = "fuzzy"; }),
            at_line(1, "conditions: expected one of binary, exact, got \"fuzzy\""));
}

TEST_F(AJournalHeader, RefusesAFactThatItDoesNotKnowByItsName) {
  EXPECT_EQ(error_with([](auto& json) { json["colour"] = "red"; }),
            at_line(1, "the journal has the fact `colour`, which this version does not know"));
  EXPECT_EQ(error_with([](auto& json) { json["metrics"][0]["weight"] = 2; }),
            at_line(1, "metric `plain` has the fact `weight`, which this version does not know"));
}

TEST_F(AJournalHeader, RefusesAFactThatIsMissingOrWrong) {
  EXPECT_EQ(error_with([](auto& json) { json.erase("config_hash"); }),
            at_line(1, "missing member `config_hash`"));
  EXPECT_EQ(error_with([](auto& json) { json["metrics"] = 3; }),
            at_line(1, "metrics: expected a list, got 3"));
  EXPECT_EQ(error_with([](auto& json) { json["metrics"][0] = 3; }),
            at_line(1, "metrics: expected descriptions, got 3"));
  EXPECT_EQ(error_with([](auto& json) { json["metrics"][1]["better"] = "up"; }),
            at_line(1, "better: expected one of higher, lower, got \"up\""));
  EXPECT_EQ(error_with([](auto& json) { json["metrics"][1]["low"] = "x"; }),
            at_line(1, "low: expected a number, got \"x\""));
  EXPECT_EQ(error_with([](auto& json) { json["metrics"][1]["course"] = 1; }),
            at_line(1, "course: expected true or false, got 1"));
  EXPECT_EQ(error_with([](auto& json) { json["programs"] = "train.py"; }),
            at_line(1, "programs: expected checksums by file, got \"train.py\""));
}

TEST_F(AJournalHeader, RefusesMetricsThatCannotBe) {
  EXPECT_EQ(error_with([](auto& json) { json["metrics"][2]["name"] = "plain"; }),
            at_line(1, "metric `plain`: is described twice"));
  EXPECT_EQ(error_with([](auto& json) { json["metrics"][0].erase("name"); }),
            at_line(1, "metric ``: has no name"));
  EXPECT_EQ(error_with([](auto& json) { json["metrics"][2]["high"] = -1; }),
            at_line(1, "metric `rate`: has a range that holds nothing"));
  EXPECT_EQ(error_with([](auto& json) { json["metrics"][1]["ideal"] = 7; }),
            at_line(1, "metric `drift`: has an ideal outside its range"));
  EXPECT_EQ(error_with([](auto& json) { json["metrics"][0]["name"] = "a\tb"; }),
            at_line(1, "metric `a\\x09b`: has a name that is not printable UTF-8"));
}

TEST_F(AJournalHeader, IsThatOfTheSameMetricsOnlyIfTheirDescriptionsAre) {
  const JournalHeader header = described_header();
  const std::vector<Metric>& metrics = header.metrics;
  EXPECT_TRUE(same_metrics(header, metrics));
  std::vector<Metric> wider = metrics;
  wider[1].range.high = 1;
  EXPECT_FALSE(same_metrics(header, wider));
  EXPECT_FALSE(same_metrics(header, {metrics[0], metrics[1]}));
  std::vector<Metric> lower = metrics;
  lower[0].better = Better::kLower;
  EXPECT_FALSE(same_metrics(header, lower)) << "a description without any other part is one, too";
}

/// Runs that earlier versions have made are kept in tests/store/runs, one for each version of the header.
JournalContents read_kept(const std::string& folder) {
  const RunPaths paths{std::filesystem::path(SKYLINE_SOURCE_DIR) / "tests/store/runs" / folder};
  const ConfigNode config = load_yaml_file(paths.config());
  return read_journal(paths.journal(), space::SearchSpace::parse(config.at("space"), {{1, 8, 8}, 3}));
}

class AKeptJournal : public ::testing::TestWithParam<const char*> {};

TEST_P(AKeptJournal, StillOpens) {
  const JournalContents contents = read_kept(GetParam());
  EXPECT_EQ(contents.entries.size(), 5U);
  EXPECT_EQ(contents.header.skyline_version, "0.1.0");
  EXPECT_EQ(contents.header.config_hash, "629ccc6f90b3395d736405186c5c903c8de639a0e131c4659ed00ccc2f1d5880");
  EXPECT_EQ(contents.header.seed, 1U);
  EXPECT_EQ(contents.header.device, "");
  EXPECT_THAT(trial::names_of(contents.header.metrics),
              ElementsAre("validation_accuracy", "validation_loss", "train_loss", "latency_ms",
                          "test_accuracy", "steps"));
  EXPECT_EQ(contents.header.metrics[0].range.high, 1);
  EXPECT_EQ(contents.header.metrics[3].better, Better::kLower);
  EXPECT_EQ(contents.header.metrics[4].repeats, "validation_accuracy");
  EXPECT_EQ(contents.header.metrics[4].of, Metric::Of::kTest);
}

INSTANTIATE_TEST_SUITE_P(OfVersion, AKeptJournal, ::testing::Values("journal_8", "journal_9"));

TEST(AJournalOfVersion8, DescribesItsMetricsByTheirNames) {
  const JournalHeader header = read_kept("journal_8").header;
  const std::vector<Metric>& metrics = header.metrics;
  EXPECT_TRUE(metrics[0].has_course);
  EXPECT_FALSE(metrics[1].has_course);
  EXPECT_EQ(metrics[1].range, (trial::MetricRange{.low = 0}));
  EXPECT_EQ(metrics[3].unit, "ms");
  std::vector<Metric> measured = read_kept("journal_9").header.metrics;
  EXPECT_TRUE(same_metrics(header, measured)) << "a run goes on with its program";
  measured.pop_back();
  EXPECT_FALSE(same_metrics(header, measured));
}

}  // namespace
}  // namespace skyline::store
