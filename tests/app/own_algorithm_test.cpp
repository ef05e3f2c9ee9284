#include "skyline/search/algorithm.hpp"

#include "app/config/configuration_warnings.hpp"
#include "app/config/run_config.hpp"
#include "core/config/config_text.hpp"
#include "engine/loop/trial_maker.hpp"
#include "run/run_state.hpp"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace skyline::app {
namespace {

/// Keys that algorithms of ours have, too, with another meaning.
struct SownOptions {
  std::size_t seeds = 0;
  std::string from = "a sack";
  std::string breed = "wheat";
};

/// Proposes one architecture again and again.
class Sown final : public search::Searcher {
 public:
  Sown(const SownOptions& /*options*/, const search::SearchProblem& problem)
      : architecture_(std::make_shared<const space::Architecture>(problem.space.build({{0}}))) {}
  search::Answer ask(std::size_t /*room*/) override {
    trial::Proposal proposal;
    proposal.architecture = architecture_;
    return {{std::move(proposal)}};
  }
  void tell(const trial::CommittedTrial& /*committed*/) override {}
  std::optional<std::size_t> generation() const override { return 1; }
  bool finished() const override { return false; }
  std::string finish_reason() const override { return "never"; }
  std::size_t expected_trials() const override { return 100; }

 private:
  search::ArchitecturePointer architecture_;
};

RunConfig sown_config() {
  static const bool registered = [] {
    const OptionTable<SownOptions> table{{"seeds", &SownOptions::seeds, at_least(0), "Grains of each."},
                                         {"from", &SownOptions::from, text("a vessel"), "Where they are."},
                                         {"breed", &SownOptions::breed, text("a breed"), "What they are."}};
    search::register_algorithm(search::make_algorithm<Sown>("sown", "Sows.", table));
    return true;
  }();
  (void)registered;
  return RunConfig::parse(load_yaml_text(R"(
data: {shape: [1, 8, 8], classes: 10}
synthetic: {}
space:
  parameters: {width: {choice: [8, 16]}}
  network: [flatten, linear: {features: $width}, linear: {features: $classes}]
objectives: [maximize: validation_accuracy]
search: {algorithm: sown, seeds: 0}
run: {window: 3}
)",
                                         "a.yaml"),
                          true);
}

TEST(OwnAlgorithm, MayCallItsKeysAsItLikes) {
  const RunConfig config = sown_config();
  EXPECT_EQ(config.algorithm().name, "sown");
  EXPECT_FALSE(config.algorithm().trains_all);
  EXPECT_EQ(config.algorithm().source_run(config.sections.search), "");
  const auto evaluator = config.make_evaluator(config.services());
  const run::RunState nothing(config.objectives);
  const engine::EngineOptions options = config.engine_options();
  engine::TrialMaker maker(options, *evaluator, nothing);
  const auto searcher = config.make_searcher();
  for (int asked = 0; asked < 2; ++asked) {
    for (trial::Proposal& proposal : searcher->ask(1).proposals) {
      const trial::Trial trial = maker.make(std::move(proposal));
      EXPECT_EQ(trial.seed, engine::trial_seed(1, trial.architecture().id, trial.horizon(), 0));
    }
  }
  const std::vector<std::string> traps = configuration_warnings(config, *searcher, evaluator.get(), {});
  ASSERT_EQ(traps.size(), 1U);
  EXPECT_EQ(traps.front(), "run.window: a window does not help sown, which waits for each generation");
}

}  // namespace
}  // namespace skyline::app
