#include "report/tracking/mlflow_sink.hpp"

#include "report/sample_run.hpp"
#include "support/yaml_config.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline::report {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::StartsWith;

/// A server that remembers what it is asked.
struct Asked {
  std::vector<std::string> calls;
  std::vector<std::uint64_t> steps;
  std::vector<std::string> keys;
  std::vector<MlflowText> params;
  std::vector<MlflowText> tags;
  bool refuses_params = false;
  bool refuses_tags = false;
  bool knows_run = true;
};

class AskedServer final : public MlflowServer {
 public:
  explicit AskedServer(Asked& asked) : asked_(asked) {}
  std::string create_run(const NewMlflowRun& run) override {
    asked_.calls.push_back("create " + run.name + " in " + run.experiment_id + run.experiment_name);
    return "made";
  }
  bool has_run(const std::string& id) override {
    asked_.calls.push_back("has " + id);
    return asked_.knows_run;
  }
  void log(const std::string& id, const MlflowEntries& entries) override {
    asked_.calls.push_back("log " + id);
    if (asked_.refuses_params && !entries.params.empty()) throw UserError("a parameter has changed");
    for (const auto& record : entries.metrics) {
      asked_.steps.push_back(record.step);
      for (const auto& named : record.values) asked_.keys.push_back(named.name);
    }
    if (asked_.refuses_tags && !entries.tags.empty()) throw UserError("no more tags");
    asked_.params.insert(asked_.params.end(), entries.params.begin(), entries.params.end());
    asked_.tags.insert(asked_.tags.end(), entries.tags.begin(), entries.tags.end());
  }
  void set_status(const std::string& id, MlflowStatus status, std::int64_t) override {
    asked_.calls.push_back("status " + id + " " + std::to_string(static_cast<int>(status)));
  }

 private:
  Asked& asked_;
};

class MlflowSinkTest : public ::testing::Test {
 protected:
  MlflowSink make(Asked& asked) {
    return MlflowSink(settings_, std::make_unique<AskedServer>(asked),
                      {.state = folder_.paths().mlflow_json(),
                       .run_name = "mnist",
                       .user = "me",
                       .begun_s = 5,
                       .params = {{"run.seed", "1"}},
                       .tags = {{"skyline.version", "1.2"}}});
  }
  static std::vector<store::MetricRecord> records(std::uint64_t first, std::uint64_t end) {
    std::vector<store::MetricRecord> list;
    for (std::uint64_t step = first; step < end; ++step) list.push_back({step, 1, {{"trial/flops", 1}}});
    return list;
  }

  /// The records as a MetricThread would give them to a new sink.
  static void begin(MlflowSink& sink, std::uint64_t end) { sink.add(records(sink.connect(), end)); }
  void begin(Asked& asked, std::uint64_t end) {
    MlflowSink sink = make(asked);
    begin(sink, end);
  }

  testing::SampleFolder folder_;
  MlflowSettings settings_{.address = "http://h", .shown = "http://h", .experiment_name = "nas"};
};

TEST_F(MlflowSinkTest, MakesARunDescribesItAndTellsHowItEnded) {
  Asked asked;
  MlflowSink sink = make(asked);
  begin(sink, 3);
  sink.add(records(3, 5));
  sink.end(RunEnd::kFinished, {"a1", "b2"});
  EXPECT_THAT(asked.calls, ElementsAre("create mnist in nas", "log made", "log made", "log made", "log made",
                                       "log made", "status made 1"));
  EXPECT_THAT(asked.steps, ElementsAre(0, 1, 2, 3, 4));
  EXPECT_THAT(asked.params, ElementsAre(MlflowText{"run.seed", "1"}));
  EXPECT_THAT(asked.tags,
              ElementsAre(MlflowText{"skyline.version", "1.2"}, MlflowText{"skyline.front", "a1 b2"}));
}

TEST_F(MlflowSinkTest, TheNextJobGoesOnWithTheSameRunAndTellsNothingTwice) {
  Asked first;
  MlflowSink stopped = make(first);
  begin(stopped, 3);
  stopped.end(RunEnd::kStopped, {});
  EXPECT_THAT(first.calls, Contains("status made 3"));
  Asked second;
  MlflowSink sink = make(second);
  begin(sink, 5);
  sink.end(RunEnd::kFailed, {});
  EXPECT_THAT(second.calls,
              ElementsAre("has made", "status made 0", "log made", "log made", "status made 2"));
  EXPECT_THAT(second.steps, ElementsAre(3, 4));
  EXPECT_THAT(second.params, IsEmpty());
}

TEST_F(MlflowSinkTest, ARunThatSomebodyDeletedIsMadeAnewWithAllTrials) {
  Asked first;
  begin(first, 3);
  Asked second;
  second.knows_run = false;
  begin(second, 4);
  EXPECT_THAT(second.calls, Contains("create mnist in nas"));
  EXPECT_THAT(second.steps, ElementsAre(0, 1, 2, 3));
}

TEST_F(MlflowSinkTest, AnotherServerIsToldEverything) {
  Asked first;
  begin(first, 3);
  settings_.shown = settings_.address = "http://other";
  Asked second;
  begin(second, 3);
  EXPECT_THAT(second.steps, ElementsAre(0, 1, 2));
}

TEST_F(MlflowSinkTest, ARunOfSomebodyElseKeepsItsStatus) {
  settings_.run_id = "theirs";
  Asked asked;
  MlflowSink sink = make(asked);
  begin(sink, 2);
  sink.end(RunEnd::kFinished, {});
  EXPECT_THAT(asked.calls, ElementsAre("log theirs", "log theirs", "log theirs", "log theirs"));
  Asked again;
  begin(again, 3);
  EXPECT_THAT(again.steps, ElementsAre(2));
}

TEST_F(MlflowSinkTest, AServerThatTakesNoParametersIsStillToldTheMetrics) {
  Asked asked;
  asked.refuses_params = true;
  begin(asked, 2);
  EXPECT_THAT(asked.steps, ElementsAre(0, 1));
}

TEST_F(MlflowSinkTest, NamesBecomeKeysThatMlflowTakes) {
  Asked asked;
  MlflowSink sink = make(asked);
  sink.connect();
  sink.add(std::vector<store::MetricRecord>{{0, 1, {{"trial/a:b", 1}, {"trial/a$b", 2}, {"../x", 3}}}});
  EXPECT_THAT(asked.keys, ElementsAre("trial/a_b", "trial/a_b_2", "__/x"));
}

TEST_F(MlflowSinkTest, ARunWhoseFrontIsRefusedIsEndedAllTheSame) {
  Asked asked;
  MlflowSink sink = make(asked);
  begin(sink, 1);
  asked.refuses_tags = true;
  sink.end(RunEnd::kFinished, {"a1"});
  EXPECT_THAT(asked.calls, Contains("status made 1"));
}

TEST_F(MlflowSinkTest, AStateThatIsBrokenMeansANewRun) {
  folder_.write(folder_.paths().mlflow_json(), "{\"address\": \"http://h\", ");
  Asked asked;
  begin(asked, 2);
  EXPECT_THAT(asked.calls, Contains("create mnist in nas"));
  EXPECT_THAT(asked.steps, ElementsAre(0, 1));
}

TEST_F(MlflowSinkTest, ALongFrontIsCutBetweenItsIds) {
  Asked asked;
  MlflowSink sink = make(asked);
  begin(sink, 1);
  sink.end(RunEnd::kFinished, std::vector<std::string>(100, "0123456789abcdef"));
  const std::string front = asked.tags.back().value;
  EXPECT_LE(front.size(), 1000U);
  EXPECT_THAT(front, StartsWith("0123456789abcdef 0123456789abcdef"));
  EXPECT_TRUE(front.ends_with("0123456789abcdef ..."));
}

TEST(MlflowParams, AreTheSettingsByDottedPathWithoutTheNetwork) {
  const ConfigNode config = testing::config_from_yaml(
      "run: {seed: 1}\n"
      "space:\n  parameters: {depth: {range: [1, 12]}, 'w/h': {choice: [1, 2]}}\n  network: [relu]\n"
      "objectives: [{maximize: validation_accuracy}, {minimize: flops}]\n");
  EXPECT_THAT(mlflow_params(config),
              ElementsAre(MlflowText{"run.seed", "1"}, MlflowText{"space.parameters.depth.range", "[1, 12]"},
                          MlflowText{"space.parameters.w_h.choice", "[1, 2]"},
                          MlflowText{"objectives", "[{maximize: validation_accuracy}, {minimize: flops}]"}));
}

TEST(MlflowParams, AreAsManyAndAsLongAsARequestTakes) {
  std::string yaml = "long: " + std::string(400, 'x') + "\nspace: {parameters: {";
  for (int i = 0; i < 200; ++i) yaml += "p" + std::to_string(i) + ": {choice: [1]}, ";
  const std::vector<MlflowText> params = mlflow_params(testing::config_from_yaml(yaml + "}}"));
  EXPECT_EQ(params.size(), 100U);
  EXPECT_EQ(params.front().value.size(), 250U);
}

}  // namespace
}  // namespace skyline::report
