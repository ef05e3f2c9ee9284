#include "search/search_run.hpp"
#include "support/user_error_of.hpp"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline::search {
namespace {

using skyline::testing::config_from_yaml;
using skyline::testing::run_search;
using skyline::testing::user_error_of;
using ::testing::HasSubstr;

/// Returns the reference system's space with a metric `size` that an expression gives.
space::SearchSpace space_with(const std::string& expression) {
  return space::SearchSpace::parse(
      config_from_yaml(skyline::testing::kCnnSpace, "space.yaml", "space"), {{1, 28, 28}, 10}, {},
      {{"size", config_from_yaml(expression, "a.yaml", "command.metrics.size.is")}});
}

objective::ObjectiveSet objectives_with(const std::string& objectives, const std::string& constraints,
                                        const space::SearchSpace& space) {
  const ConfigNode list = config_from_yaml(objectives, "a.yaml", "objectives");
  const ConfigNode bounds = config_from_yaml(constraints, "a.yaml", "constraints");
  auto set = objective::ObjectiveSet::parse(list, &bounds, {{.name = "accuracy"}, {.name = "latency"}}, true,
                                            {{.name = "size", .computed = true}});
  set.complete_references(space);
  return set;
}

/// Returns the ids that a search proposes whose second objective and whose constraint are of this metric.
std::vector<space::ArchId> proposed(const std::string& algorithm, const std::string& metric) {
  const space::SearchSpace space = space_with("$flops");
  const auto objectives = objectives_with("[{maximize: accuracy}, {minimize: " + metric + "}]",
                                          "[{" + metric + ": [0, 4.0e6]}]", space);
  const auto searcher = make_searcher(config_from_yaml("{algorithm: " + algorithm + "}", "a.yaml", "search"),
                                      space, objectives, 3, {8});
  return skyline::testing::ids_of(
      run_search(*searcher, skyline::testing::closed_formula, {.room = [] { return std::size_t{4}; }}));
}

class EveryAlgorithm : public ::testing::TestWithParam<std::string> {};

TEST_P(EveryAlgorithm, TakesAGivenMetricForTheCostThatItIs) {
  const std::vector<space::ArchId> by_cost = proposed(GetParam(), "flops");
  EXPECT_GE(by_cost.size(), 8U);
  EXPECT_EQ(proposed(GetParam(), "size"), by_cost);
}

INSTANTIATE_TEST_SUITE_P(GivenMetrics, EveryAlgorithm,
                         ::testing::Values("skyline, trials: 24", "skyline, trials: 24, budgets: [2, 8]",
                                           "random, trials: 24", "exhaustive", "nsga2, trials: 40",
                                           "evolution_pareto, iterations: 2, initial: 10, max_unseen: 10",
                                           "local_search, trials: 24", "mo_bananas, trials: 24",
                                           "mo_asha, trials: 24"),
                         [](const auto& test) { return "Of" + std::to_string(test.index); });

TEST(GivenMetrics, AreBoundedBeforeAnyTrial) {
  const space::SearchSpace space = space_with("$kernel * 10 - 40");
  const auto objectives = objectives_with("[{maximize: accuracy}]", "[{size: [-20, 0]}]", space);
  const auto searcher = make_searcher(config_from_yaml("{algorithm: random, trials: 20}", "a.yaml", "search"),
                                      space, objectives, 1);
  for (const trial::CommittedTrial& each : run_search(*searcher)) {
    const double size = each.trial.architecture().given("size").value();
    EXPECT_GE(size, -20);
    EXPECT_LE(size, 0);
  }
}

TEST(GivenMetrics, AreNamedWhereNoArchitectureMeetsTheirBounds) {
  const space::SearchSpace space = space_with("$kernel * 10 - 40");
  const auto objectives = objectives_with("[{maximize: accuracy}]", "[{size: [-200, -100]}]", space);
  EXPECT_THAT(user_error_of([&] {
                make_searcher(config_from_yaml("{algorithm: random, trials: 20}", "a.yaml", "search"), space,
                              objectives, 1);
              }),
              HasSubstr("fail `size: [-200, -100]` (smallest found: -"));
}

}  // namespace
}  // namespace skyline::search
