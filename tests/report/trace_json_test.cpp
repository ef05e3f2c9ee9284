
#include "report/sample_run.hpp"
#include "report/text/run_account.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace skyline::report {
namespace {

using Json = nlohmann::json;
using ::testing::ElementsAre;

/// The events of one kind on one slot as "name start-end", in seconds.
std::vector<std::string> slices(const Json& trace, int rank, int slot) {
  std::vector<std::string> texts;
  for (const Json& event : trace.at("traceEvents")) {
    if (event.at("ph") != "X" || event.at("pid") != rank || event.at("tid") != slot) continue;
    const auto start = event.at("ts").get<double>() / 1e6;
    const auto end = start + event.at("dur").get<double>() / 1e6;
    texts.push_back(event.at("name").get<std::string>() + " " + Json(start).dump() + "-" + Json(end).dump());
  }
  return texts;
}

/// Six trials: four on slot 0 of rank 0, one after the other from 10 s on, and two on slot 1 of rank 2.
run::RunState state_of(testing::SampleRun& run) {
  for (std::size_t i = 0; i < run.committed.size(); ++i) {
    const bool here = i < 4;
    run.committed[i].timing = {.rank = here ? 0 : 2,
                               .slot = here ? 0 : 1,
                               .started_s = 10.0 * static_cast<double>(i + 1),
                               .setup_s = 0.5,
                               .train_s = 4,
                               .validate_s = 1,
                               .wait_ranks_s = 1.5};
  }
  return run.state();
}

TEST(TraceJson, HasASliceForEachTrialAndForEachPartOfIt) {
  testing::SampleRun run;
  const Json trace = Json::parse(trace_json(state_of(run), {}));
  const std::vector<std::string> first = slices(trace, 0, 0);
  ASSERT_EQ(first.size(), 20U);
  EXPECT_THAT(std::vector(first.begin(), first.begin() + 5),
              ElementsAre("trial 0 10.0-17.0", "set-up 10.0-10.5", "waiting for ranks 10.5-12.0",
                          "training 12.0-16.0", "validation 16.0-17.0"));
  EXPECT_EQ(first[15], "trial 3 failed 40.0-47.0");
  EXPECT_EQ(slices(trace, 2, 1).at(0), "trial 1.final 50.0-57.0");
}

TEST(TraceJson, NamesRanksWithTheirHostsAndSlots) {
  testing::SampleRun run;
  const run::RunAccount account{1, {{.rank = 2, .slot = 1, .host = "node\"17"}}};
  std::vector<std::string> names;
  const Json trace = Json::parse(trace_json(state_of(run), account));
  for (const Json& event : trace.at("traceEvents")) {
    if (event.at("ph") == "M") names.push_back(event.at("args").at("name"));
  }
  EXPECT_THAT(names, ElementsAre("rank 0", "slot 0", "rank 2 node\"17", "slot 1"));
}

TEST(TraceJson, LetsNeighboursShareASliceInALargeRun) {
  testing::SampleRun run;
  const Json trace = Json::parse(trace_json(state_of(run), {}, 2));
  EXPECT_THAT(slices(trace, 0, 0),
              ElementsAre("3 trials 10.0-37.0", "set-up 10.0-11.5", "waiting for ranks 11.5-16.0",
                          "training 16.0-28.0", "validation 28.0-31.0", "trial 3 failed 40.0-47.0",
                          "set-up 40.0-40.5", "waiting for ranks 40.5-42.0", "training 42.0-46.0",
                          "validation 46.0-47.0"));
  EXPECT_EQ(slices(trace, 2, 1).size(), 5U);
}

TEST(TraceJson, IsEmptyBeforeTheFirstTrial) {
  EXPECT_TRUE(Json::parse(trace_json(run::RunState(), {})).at("traceEvents").empty());
}

}  // namespace
}  // namespace skyline::report
