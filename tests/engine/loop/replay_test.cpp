#include "engine/loop/replay.hpp"

#include "support/sample_metrics.hpp"
#include "support/user_error_of.hpp"

#include <cstdint>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline::engine {
namespace {

using testing::user_error_of;

std::string metrics_error(const std::vector<trial::Metric>& recorded,
                          const std::vector<trial::Metric>& measured) {
  store::JournalHeader header;
  header.metrics = recorded;
  return user_error_of([&] { check_same_metrics(header, measured); });
}

TEST(Replay, RefusesAJournalOfOtherMetrics) {
  const std::string end = "; resume with the configuration and version that the run was started with";
  EXPECT_EQ(metrics_error({{.name = "a"}, {.name = "b"}}, {{.name = "a"}}),
            "journal line 1: metrics are a, b but this configuration measures a" + end);
  EXPECT_EQ(metrics_error({{.name = "a", .range = {0, 1}}, {.name = "b"}},
                          {{.name = "a", .range = {0, 2}}, {.name = "b"}}),
            R"(journal line 1: metrics are {"name":"a","better":"higher","low":0.0,"high":1.0} )"
            R"(but this configuration measures {"name":"a","better":"higher","low":0.0,"high":2.0})" +
                end);
  EXPECT_EQ(metrics_error({testing::latency_ms()}, {testing::latency_ms()}), "(nothing was thrown)");
}

TEST(Replay, ForgetsWhatWasAskedAfterATrialThatIsMissing) {
  const auto asked = [](std::uint32_t iteration) {
    trial::Proposal proposal;
    proposal.iteration = iteration;
    return proposal;
  };
  Replay replay({}, {}, {}, {{0, asked(7)}, {1, asked(8)}, {3, asked(9)}});
  EXPECT_EQ(replay.proposal_of(0).value().iteration, 7U);
  EXPECT_EQ(replay.proposal_of(1).value().iteration, 8U);
  EXPECT_FALSE(replay.proposal_of(2));
  EXPECT_FALSE(replay.proposal_of(3)) << "it follows from what trial 2 was";
}

}  // namespace
}  // namespace skyline::engine
