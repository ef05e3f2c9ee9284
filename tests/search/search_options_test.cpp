#include "skyline/core/error.hpp"

#include "search/search_run.hpp"
#include "support/user_error_of.hpp"

#include <string>

#include <gtest/gtest.h>

namespace skyline::search {
namespace {

using testing::archai_space;
using testing::config_from_yaml;
using testing::objective_set;
using testing::user_error_of;
using trial::CommittedTrial;

ConfigNode complete(const std::string& yaml) {
  const ConfigNode section = config_from_yaml(yaml, "run.yaml", "search");
  return algorithm_of(section).keys->complete(section);
}

void expect_completed(const std::string& yaml, const std::string& expected) {
  const ConfigNode completed = complete(yaml);
  EXPECT_EQ(first_difference(completed, config_from_yaml(expected)), "") << yaml;
  EXPECT_EQ(first_difference(algorithm_of(completed).keys->complete(completed), completed), "") << yaml;
}

std::string parse_error(const std::string& yaml) {
  return user_error_of([&] { complete(yaml); });
}

TEST(SearchOptions, AreThoseOfSkylineWhenTheSectionNamesNoAlgorithm) {
  for (const std::string section : {"", "{}"}) {
    expect_completed(section, "{algorithm: skyline, trials: 100, batch: 1}");
  }
  expect_completed("trials: 7", "{algorithm: skyline, trials: 7, batch: 1}");
  EXPECT_EQ(parse_error("{trials: 7, iterations: 3}"),
            "run.yaml:1:25: search.iterations: a key of `algorithm: evolution_pareto`, which must be stated; "
            "without `algorithm` it is skyline, whose length is `trials`");
  EXPECT_EQ(parse_error("tials: 7"),
            "run.yaml:1:1: search: unknown key `tials` beside `algorithm: skyline`, did you mean `trials`?");
}

TEST(SearchOptions, AreTheReferenceDefaultsForItsAlgorithm) {
  expect_completed("algorithm: evolution_pareto",
                   "{algorithm: evolution_pareto, iterations: 10, initial: 10, max_unseen: 100, "
                   "mutations_per_parent: 1, crossovers: 5, random_mix: 5, mutation_probability: 0.3, breed: "
                   "generation}");
  expect_completed(
      "algorithm: regularized_evolution",
      "{algorithm: regularized_evolution, trials: 100, initial: 10, population: 100, sample: 40, "
      "mutation_probability: 0.3}");
  expect_completed("algorithm: local_search", "{algorithm: local_search, trials: 100, initial: 10}");
  expect_completed("algorithm: mo_bananas",
                   "{algorithm: mo_bananas, trials: 100, initial: 10, parents: 10, mutations_per_parent: 5, "
                   "batch: 10, mutation_probability: 0.3}");
  expect_completed("algorithm: nsga2",
                   "{algorithm: nsga2, trials: 100, population: 20, crossover_probability: 0.9, "
                   "mutation_probability: auto}");
  expect_completed("algorithm: random", "{algorithm: random, trials: 100}");
  expect_completed("algorithm: exhaustive", "{algorithm: exhaustive, trials: all}");
}

TEST(SearchOptions, AreWrittenOutCompletelyAndReadBackTheSame) {
  for (const std::string whole :
       {"{algorithm: evolution_pareto, iterations: 3, initial: 4, max_unseen: 5, mutations_per_parent: 0, "
        "crossovers: 6, random_mix: 7, mutation_probability: 0.5, breed: commit}",
        "{algorithm: random, trials: 12}", "{algorithm: exhaustive, trials: 12}"}) {
    expect_completed(whole, whole);
  }
}

TEST(SearchOptions, NameKnownResultsWhoseContentIsAPartOfARun) {
  expect_completed("{trials: 7, known: [runs/a, b.csv]}",
                   "{algorithm: skyline, trials: 7, batch: 1, known: [{from: runs/a}, {from: b.csv}]}");
  const ConfigNode section = complete("{algorithm: random, known: [{from: runs/a, checksum: abc}]}");
  EXPECT_EQ(first_difference(find_algorithm("random")->keys->identity(section),
                             config_from_yaml("{algorithm: random, known: [{checksum: abc}]}")),
            "");
  EXPECT_EQ(parse_error("{known: runs/a}"),
            "run.yaml:1:9: search.known: expected a list of run folders and CSV files, got runs/a");
}

TEST(SearchOptions, OfABoundAloneAreNotPartOfARun) {
  const ConfigNode section = complete("{algorithm: random, trials: 12}");
  EXPECT_EQ(first_difference(find_algorithm("random")->keys->identity(section),
                             config_from_yaml("algorithm: random")),
            "");
}

/// One that proposes nothing.
class Idle final : public Searcher {
 public:
  struct Options {
    std::size_t days = 7;
  };
  Idle(const Options& options, const SearchProblem& /*problem*/) : days_(options.days) {}
  Answer ask(std::size_t /*room*/) override { return {}; }
  void tell(const CommittedTrial& /*committed*/) override {}
  bool finished() const override { return true; }
  std::string finish_reason() const override { return std::to_string(days_) + " days of rest"; }
  std::size_t expected_trials() const override { return 0; }

 private:
  std::size_t days_;
};

TEST(Algorithms, MayBeRegisteredFromOutside) {
  const OptionTable<Idle::Options> table{{"days", &Idle::Options::days, at_least(1), "Days of rest."}};
  register_algorithm(make_algorithm<Idle>("idle", "Proposes nothing.", table));
  const ConfigNode section = config_from_yaml("{algorithm: idle, days: 3}", "run.yaml", "search");
  EXPECT_EQ(
      make_searcher(section, archai_space(), objective_set("[{maximize: accuracy}]"), 1)->finish_reason(),
      "3 days of rest");
  expect_completed("algorithm: idle", "{algorithm: idle, days: 7}");
  EXPECT_EQ(parse_error("{algorithm: idle, day: 2}"),
            "run.yaml:1:19: search: unknown key `day` beside `algorithm: idle`, did you mean `days`?");
  EXPECT_THROW(register_algorithm(make_algorithm<Idle>("idle", "Proposes nothing.", table)), InternalError);
}

TEST(SearchOptions, RefuseUnknownAlgorithmsAndKeysWithASuggestion) {
  EXPECT_EQ(parse_error("algorithm: evolution_parreto"),
            "run.yaml:1:12: search.algorithm: unknown algorithm `evolution_parreto`, did you mean "
            "`evolution_pareto`?");
  EXPECT_EQ(
      parse_error("algorithm: hyperbolic"),
      "run.yaml:1:12: search.algorithm: unknown algorithm `hyperbolic`, known here: evolution_pareto, "
      "exhaustive, listed, local_search, mo_asha, mo_bananas, nsga2, program, random, regularized_evolution, skyline, "
      "successive_halving");
  EXPECT_EQ(parse_error("algorithm: GridSampler"),
            "run.yaml:1:12: search.algorithm: unknown algorithm `GridSampler`, Optuna's GridSampler is "
            "`search.algorithm: exhaustive` here");
  EXPECT_EQ(parse_error("algorithm: evolution_pareto\niteration: 3"),
            "run.yaml:2:1: search: unknown key `iteration` beside `algorithm: evolution_pareto`, did you "
            "mean `iterations`?");
  EXPECT_EQ(parse_error("algorithm: random\ninitial: 3"),
            "run.yaml:2:1: search: unknown key `initial` beside `algorithm: random`, known here: algorithm, "
            "trials, known, repeats, pruning");
}

TEST(SearchOptions, RefuseNumbersOutOfRange) {
  EXPECT_EQ(parse_error("{algorithm: evolution_pareto, iterations: 0}"),
            "run.yaml:1:43: search.iterations: expected a whole number from 1 to 1000000, got 0");
  EXPECT_EQ(parse_error("{algorithm: evolution_pareto, crossovers: -1}"),
            "run.yaml:1:43: search.crossovers: expected a whole number from 0 to 1000, got -1");
  EXPECT_EQ(parse_error("{algorithm: evolution_pareto, initial: 2.5}"),
            "run.yaml:1:40: search.initial: expected a whole number from 1 to 1000000, got 2.5");
  EXPECT_EQ(parse_error("{algorithm: random, trials: 0}"),
            "run.yaml:1:29: search.trials: expected a whole number from 1 to 1000000, got 0");
  EXPECT_EQ(parse_error("{algorithm: evolution_pareto, mutation_probability: 1.5}"),
            "run.yaml:1:53: search.mutation_probability: expected a number above 0 and at most 1, got 1.5");
  EXPECT_EQ(parse_error("[]"), "run.yaml:1:1: search: expected a map, got an empty list");
}

}  // namespace
}  // namespace skyline::search
