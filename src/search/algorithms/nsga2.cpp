#include "search/algorithms/algorithms.hpp"
#include "search/algorithms/pool_searcher.hpp"
#include "search/algorithms/variation.hpp"
#include "search/pareto/ranking.hpp"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

namespace skyline::search {
namespace {

struct GeneticOptions {
  std::size_t trials = 100;
  std::size_t population = 20;
  double crossover_probability = 0.9;
  std::optional<double> mutation_probability;  // one of the parameters, unless stated
};

/// The non-dominated sorting genetic algorithm. The best results are the population: those of the first
/// fronts, and of the last front that has room the least crowded ones. Each parent wins a tournament of two
/// by these measures. A child is a crossover, each of whose parameters may change, or else a mutant.
///
/// This is the steady state: a child is made whenever there is room for a trial.
/// @see Deb et al., A Fast and Elitist Multiobjective Genetic Algorithm: NSGA-II, IEEE TEC 6(2), 2002
/// @see Durillo et al., On the Effect of the Steady-State Selection Scheme, EMO 2009
class Nsga2 final : public PoolSearcher {
 public:
  Nsga2(const GeneticOptions& options, const SearchProblem& problem)
      : PoolSearcher("nsga2", problem, options.trials),
        options_(options),
        mutation_probability_(options.mutation_probability.value_or(
            1 / static_cast<double>(std::max<std::size_t>(problem.space.parameters().size(), 1)))),
        variation_(pool(), mutation_probability_) {
    for (std::size_t i = 0; i < problem.space.parameters().size(); ++i) {
      unchanged_ *= 1 - mutation_probability_;
    }
  }

 private:
  struct Member {
    Parent parent;
    std::vector<double> values;  // minimized
    std::size_t rank = 0;
    double crowding = 0;
  };

  std::optional<trial::Proposal> next() override {
    if (is_exhausted()) return std::nullopt;
    if (asked() < options_.population) return draw(trial::Origin::kInitial);
    select();
    if (members_.empty()) return draw(trial::Origin::kRandom);
    for (int i = 0; i < VariationOperators::kCrossoverTries; ++i) {
      if (auto child = offspring()) return child;
    }
    return draw(trial::Origin::kRandom);
  }

  void learn(const trial::CommittedTrial& committed) override {
    auto values = pool().objectives().minimized(committed);
    if (!values) return;
    members_.push_back({{committed.trial.number, committed.trial.proposal.architecture}, *std::move(values)});
    is_selected_ = false;
  }

  /// Keeps the best results, the best one first.
  void select() {
    if (std::exchange(is_selected_, true)) return;
    std::vector<std::vector<double>> points;
    for (const Member& member : members_) points.push_back(member.values);
    const std::vector<std::size_t> ranks = front_ranks(points);
    const std::vector<double> distances = crowding_distances(points, ranks);
    for (std::size_t i = 0; i < members_.size(); ++i) {
      members_[i].rank = ranks[i];
      members_[i].crowding = distances[i];
    }
    std::ranges::stable_sort(members_, {},
                             [](const Member& member) { return std::pair(member.rank, -member.crowding); });
    if (members_.size() > options_.population) members_.resize(options_.population);
  }

  /// Returns the winner of a tournament of two: the one that stands first.
  const Parent& winner() {
    const std::size_t first = random().below(members_.size());
    return members_[std::min<std::size_t>(first, random().below(members_.size()))].parent;
  }

  std::optional<trial::Proposal> offspring() {
    const Parent& first = winner();
    const Parent& second = winner();
    if (first.number == second.number || random().uniform() >= options_.crossover_probability) {
      const auto mutant =
          pool().space().mutate(first.architecture->genotype, mutation_probability_, random());
      return variation_.child(mutant, trial::Origin::kMutation, {first.number}, 0);
    }
    auto genotype = pool().space().cross(*first.architecture, *second.architecture, random());
    if (genotype && random().uniform() >= unchanged_) {
      genotype = pool().space().mutate(*genotype, mutation_probability_, random());
    }
    return variation_.child(genotype, trial::Origin::kCrossover, {first.number, second.number}, 0);
  }

  GeneticOptions options_;
  double mutation_probability_;
  double unchanged_ = 1;  // probability that no parameter of a crossover changes
  VariationOperators variation_;
  std::vector<Member> members_;  // the population, and the results since it was selected
  bool is_selected_ = true;
};

}  // namespace

Algorithm nsga2() {
  using Options = GeneticOptions;
  const Range probability = above(0).at_most(1);
  const OptionTable<Options> options{
      {"trials", &Options::trials, at_least(1).at_most(kMostCounted),
       "Maximum number of trials of the search.", KeyRule::kMayChange},
      {"population", &Options::population, at_least(2).at_most(10'000),
       "Results that may have children; as many random architectures come first."},
      {"crossover_probability", &Options::crossover_probability, at_least(0).at_most(1),
       "Probability that a child has two parents."},
      {"mutation_probability", &Options::mutation_probability, or_keyword("auto", number(probability)),
       "Probability of each used parameter to change in a child. `auto`: one of all parameters on average."}};
  Algorithm algorithm = make_algorithm<Nsga2>(
      "nsga2", "For comparisons with other programs: the non-dominated sorting genetic algorithm (NSGA-II).",
      options);
  algorithm.window = 8;
  algorithm.uses_known = true;
  algorithm.can_repeat = true;
  return algorithm;
}

}  // namespace skyline::search
