#include "app/simulate/simulation.hpp"

#include "skyline/core/error.hpp"

#include "app/config/configuration_warnings.hpp"
#include "core/config/config_text.hpp"
#include "store/publish/publish.hpp"

#include <filesystem>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline::app {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

RunConfig synthetic_with(const std::vector<std::string>& settings) {
  ConfigNode root =
      store::load_yaml_file(std::filesystem::path(SKYLINE_SOURCE_DIR) / "configs/synthetic.yaml");
  for (const std::string& setting : settings) apply_override(root, setting);
  return RunConfig::read(root);
}

/// Lognormal times of cv 0.5, known with an error of 0.3.
Simulation simulation_of(const RunConfig& config) {
  return {config, {.law = {.mean_s = 1, .forecast_error = 0.3, .cv = 0.5}, .trials = 1280}};
}

engine::EngineOptions window_of(std::size_t window, std::optional<std::size_t> virtual_slots = {}) {
  engine::EngineOptions options;
  options.window = window;
  options.virtual_slots = virtual_slots;
  if (virtual_slots) options.commit = engine::CommitBy::kVirtualTime;
  return options;
}

TEST(Simulation, KeepsSlotsBusyByVirtualTimeInASmallerWindowThanByNumber) {
  const RunConfig config = synthetic_with({});
  const Simulation simulation = simulation_of(config);
  const auto share = [&](const engine::EngineOptions& options) {
    return simulation.run_steady(64, 1280, options).to_last_start();
  };
  EXPECT_GT(share(window_of(128, 64)), 0.97);
  EXPECT_LT(share(window_of(128)), 0.9);
  EXPECT_GT(share(window_of(320)), 0.97);
  EXPECT_LT(share(window_of(64)), 0.6);
}

TEST(Simulation, ShowsWhatGenerationsCost) {
  const RunConfig config = synthetic_with({"search.initial=64", "search.max_unseen=64"});
  EXPECT_LT(simulation_of(config).run(64).to_last_start(), 0.6);
  const RunConfig random = synthetic_with({"search={algorithm: random}"});
  const engine::FleetUse free = simulation_of(random).run(64);
  EXPECT_GT(free.to_last_start(), 0.99) << "needs no results, so it waits for none";
  EXPECT_GT(free.in_all(), 0.9);
}

TEST(Simulation, HasTimesOfTheGivenMean) {
  const RunConfig config = synthetic_with({});
  for (const std::optional<double> cv : {std::optional<double>{}, std::optional<double>{0.5}}) {
    const Simulation simulation(config,
                                {.law = {.mean_s = 100, .forecast_error = 0.3, .cv = cv}, .trials = 2000});
    const engine::FleetUse use = simulation.run_steady(1, 2000, window_of(10));
    EXPECT_NEAR(use.busy_s / 2000, 100, 6);
    EXPECT_DOUBLE_EQ(use.in_all(), 1);
  }
}

TEST(Simulation, IsTheSameAgainAndEndsSoonerWithMoreSlots) {
  const RunConfig config = synthetic_with({});
  const Simulation simulation = simulation_of(config);
  EXPECT_EQ(simulation.run(8).wall_s, simulation.run(8).wall_s);
  EXPECT_LT(simulation.run(16).wall_s, simulation.run(8).wall_s);
}

TEST(Simulation, LetsTrialsWaitForASearchThatThinksAboutEach) {
  const RunConfig config = synthetic_with({});
  const auto use = [&](double think_s, const engine::EngineOptions& options) {
    const Simulation simulation(
        config, {.law = {.mean_s = 1, .forecast_error = 0.3, .cv = 0.5}, .trials = 640, .think_s = think_s});
    return simulation.run_steady(32, 640, options);
  };
  for (const auto& options : {window_of(128), window_of(64, 32)}) {
    const double at_once_s = use(0, options).wall_s;
    EXPECT_NEAR(use(1e-6, options).wall_s, at_once_s, 0.05 * at_once_s);
    const double slow_s = use(0.1, options).wall_s;
    EXPECT_GT(slow_s, 64) << "it thinks of 640 trials, 0.1 s each";
    EXPECT_LT(slow_s, 70);
  }
}

TEST(Simulation, DrawsOneArchitectureAgainWhereNoOtherIsFound) {
  const RunConfig config = synthetic_with(
      {"space={parameters: {a: {range: [1, 300]}, b: {range: [1, 300]}, c: {range: [1, 300]}}, network: "
       "[{conv2d: {channels: $a, kernel: 1}}, {conv2d: {channels: $b, kernel: 1}}, {conv2d: {channels: $c, "
       "kernel: 1}}, global_average_pool, {linear: {features: $classes}}]}",
       "constraints=[{parameters: [34567, 34567]}]"});
  EXPECT_GT(simulation_of(config).run_steady(4, 100, window_of(20)).in_all(), 0.5);
}

TEST(Simulation, OfTheSearchAsksForItsTrialsAndTakesTheirCosts) {
  const RunConfig config = synthetic_with(
      {"search.breed=commit", "run.window=2x", "run.virtual_slots=4", "run.commit=virtual_time"});
  const Simulation simulation(config, {.law = {}, .with_search = true});
  EXPECT_EQ(simulation.trials(), config.make_searcher()->expected_trials());
  EXPECT_GT(simulation.run(4).to_last_start(), 0.8);
}

TEST(Simulation, TakesMeasuredTimesOfARunForWhatACostTakes) {
  const RunConfig config = synthetic_with({});
  TimeLaw law;
  law.measured = {1e-6, 3e-6};
  const double slow = Simulation(config, {.law = law, .trials = 500}).run_steady(1, 500, window_of(9)).wall_s;
  law.measured = {1e-6};
  const double fast = Simulation(config, {.law = law, .trials = 500}).run_steady(1, 500, window_of(9)).wall_s;
  EXPECT_NEAR(slow / fast, 2, 0.3);
}

std::vector<std::string> traps_of(const std::vector<std::string>& settings, const JobSize& size) {
  const RunConfig config = synthetic_with(settings);
  const auto evaluator = config.make_evaluator(config.services());
  return configuration_warnings(config, *config.make_searcher(), evaluator.get(), size);
}

TEST(ConfigurationWarnings, AreNoneWhereAllSlotsWork) {
  EXPECT_THAT(traps_of({}, {.slots = 4}), IsEmpty());
  EXPECT_THAT(traps_of({"search.breed=commit", "search.iterations=50", "run.window=128"}, {.slots = 64}),
              IsEmpty());
  EXPECT_THAT(traps_of({"search={algorithm: random}"}, {.slots = 5000}), IsEmpty());
  EXPECT_THAT(traps_of({}, {}), IsEmpty());
}

TEST(ConfigurationWarnings, NameWindowsAndGenerationsThatAreSmallerThanTheSlots) {
  EXPECT_THAT(traps_of({"search.breed=commit", "run.window=8"}, {.slots = 64}),
              ElementsAre("run.window: 8 trials at a time for 64 slots, which leaves 56 idle; set it to 256, "
                          "or to 160 with `run.commit: virtual_time`"));
  EXPECT_THAT(
      traps_of({"search={algorithm: skyline}", "run={commit: virtual_time, virtual_slots: 9}"}, {.slots = 9}),
      ElementsAre("run.window: 8 trials at a time for 9 slots, which leaves 1 idle; set it to 22"));
  EXPECT_THAT(
      traps_of({"search.initial=20", "search.max_unseen=12"}, {.slots = 64}),
      ElementsAre("search: a generation has at most 20 trials at a time for 64 slots, which leaves 44 "
                  "idle"));
}

TEST(ConfigurationWarnings, NameAMissingWindow) {
  EXPECT_THAT(traps_of({"search.breed=commit"}, {}),
              ElementsAre("run.window: without one, evolution_pareto waits until all trials in flight are "
                          "committed; set it to 2 to 2.5 times the slots by virtual time, 4 to 5 times by "
                          "number"));
  const RunConfig config = synthetic_with({"search.breed=commit"});
  EXPECT_THROW(Simulation(config, {}), UserError) << "it would look like a search that never waits";
  EXPECT_NO_THROW(Simulation(config, {.law = {}, .with_search = true}));
}

TEST(ConfigurationWarnings, NameAWindowOrABatchOfAllTrials) {
  const std::string search = "search={algorithm: skyline, trials: 60";
  EXPECT_THAT(
      traps_of({search + "}", "run.window=60"}, {}),
      ElementsAre("run.window: holds all 60 trials, so skyline knows no result when it chooses the last "
                  "one, which is a random search: set it to 15 or less"));
  EXPECT_THAT(traps_of({search + ", batch: 80}"}, {}),
              ElementsAre(HasSubstr("search.batch: holds all 60 trials")));
  EXPECT_THAT(traps_of({search + ", batch: 30}", "run.window=30"}, {}), IsEmpty());
  EXPECT_THAT(traps_of({"search={algorithm: skyline, trials: 8}"}, {}), IsEmpty()) << "too few for a model";
  EXPECT_THAT(traps_of({"search={algorithm: random, trials: 60}"}, {}), IsEmpty());
}

TEST(ConfigurationWarnings, TakeTheVirtualSlotsWhereThoseOfAJobAreNotKnown) {
  EXPECT_THAT(traps_of({"search.breed=commit", "run.window=8", "run.virtual_slots=64"}, {}),
              ElementsAre(HasSubstr("leaves 56 idle")));
}

TEST(ConfigurationWarnings, NameAWindowThatDoesNothing) {
  EXPECT_THAT(
      traps_of({"run.window=500"}, {}),
      ElementsAre("run.window: a window does not help evolution_pareto, which waits for each generation; "
                  "`search.breed: commit` does not"));
  EXPECT_THAT(traps_of({"search={algorithm: random}", "run.window=500"}, {}),
              ElementsAre("run.window: a window does not help random, which needs no results: leave it out"));
}

class WideGroups final : public trial::Evaluator {
 public:
  double predicted_cost(const trial::Trial& /*trial*/) const override { return 1; }
  std::uint32_t members_for(const trial::Trial& /*trial*/) const override { return 8; }
  bool forms_groups() const override { return true; }
  trial::Outcome evaluate(const trial::Trial& /*trial*/, trial::EvaluationContext& /*context*/) override {
    return trial::Measurements{};
  }
};

TEST(ConfigurationWarnings, NameGroupsThatAreLargerThanTheRanks) {
  const RunConfig config = synthetic_with({});
  const WideGroups evaluator;
  const auto searcher = config.make_searcher();
  EXPECT_THAT(configuration_warnings(config, *searcher, &evaluator, {.ranks = 8}), IsEmpty());
  EXPECT_THAT(configuration_warnings(config, *searcher, &evaluator, {.ranks = 3}),
              ElementsAre(HasSubstr("trials of up to 8 members for 3 ranks that train")));
}

}  // namespace
}  // namespace skyline::app
