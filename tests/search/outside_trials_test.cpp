#include "search/search_run.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline::search {
namespace {

using skyline::testing::archai_space;
using skyline::testing::config_from_yaml;
using skyline::testing::objective_set;
using ::testing::StartsWith;

trial::Outcome outside() {
  const double none = std::nan("");
  return trial::Measurements{.values = {none, none}, .extent = trial::Extent::kOutside, .reason = "too slow"};
}

/// Lets nothing be trained of networks with kernels of 3.
trial::Outcome asked_before(const trial::Trial& trial) {
  const space::Architecture& architecture = trial.architecture();
  const space::SearchSpace space = archai_space();
  for (std::size_t p = 0; p < space.parameters().size(); ++p) {
    const space::Parameter& parameter = space.parameters()[p];
    const bool is_outside = parameter.name == "kernel" &&
                            space::to_text(parameter.values[architecture.genotype.choices[p]]) == "3";
    if (is_outside) return outside();
  }
  return skyline::testing::closed_formula(trial);
}

std::unique_ptr<Searcher> searcher_of(const std::string& section) {
  return make_searcher(config_from_yaml("{algorithm: " + section + "}", "a.yaml", "search"), archai_space(),
                       objective_set("[{maximize: accuracy}, {minimize: latency}]"), 5);
}

std::size_t count_outside(const std::vector<trial::CommittedTrial>& trials) {
  return static_cast<std::size_t>(
      std::ranges::count_if(trials, [](const auto& each) { return trial::is_outside(each.outcome); }));
}

class CountedAlgorithm : public ::testing::TestWithParam<std::string> {};

TEST_P(CountedAlgorithm, HasAllItsTrialsBesideThoseThatAreOutside) {
  for (const std::size_t room : {1U, 3U, 50U}) {
    const auto searcher = searcher_of(GetParam() + ", trials: 24");
    const auto trials =
        skyline::testing::run_search(*searcher, asked_before, {.room = [room] { return room; }});
    const std::size_t outside = count_outside(trials);
    EXPECT_GT(outside, 0U);
    EXPECT_EQ(trials.size(), 24 + outside);
    EXPECT_TRUE(searcher->finished());
    EXPECT_FALSE(searcher->gave_up());
    EXPECT_EQ(searcher->finish_reason(), std::to_string(24 + outside) + " trials done, " +
                                             std::to_string(outside) + " of them outside of constraints");
  }
}

TEST_P(CountedAlgorithm, GivesUpIfAllAreOutside) {
  const auto searcher = searcher_of(GetParam() + ", trials: 6");
  const auto trials = skyline::testing::run_search(*searcher, [](const trial::Trial&) { return outside(); });
  EXPECT_EQ(trials.size(), 24U);
  EXPECT_TRUE(searcher->gave_up());
  EXPECT_THAT(searcher->finish_reason(), StartsWith("24 trials broke a constraint"));
}

INSTANTIATE_TEST_SUITE_P(OutsideTrials, CountedAlgorithm,
                         ::testing::Values("skyline", "random", "nsga2, population: 6",
                                           "regularized_evolution, initial: 6, sample: 3", "local_search",
                                           "mo_bananas", "exhaustive", "skyline, repeats: 2",
                                           "random, repeats: 2"),
                         [](const auto& test) { return "Of" + std::to_string(test.index); });

}  // namespace
}  // namespace skyline::search
