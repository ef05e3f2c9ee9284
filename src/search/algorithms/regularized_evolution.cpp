#include "search/algorithms/algorithms.hpp"
#include "search/algorithms/pool_searcher.hpp"
#include "search/algorithms/variation.hpp"

#include <algorithm>
#include <deque>
#include <numeric>
#include <utility>
#include <vector>

namespace skyline::search {
namespace {

struct AgeingOptions {
  std::size_t trials = 100;
  std::size_t initial = 10;
  std::size_t population = 100;
  std::size_t sample = 40;
  double mutation_probability = 0.3;
};

/// Regularized evolution: the newest results are the population, whatever they measured, and the oldest one
/// leaves it for each new one. A parent is drawn from the front of a random sample of the population, which
/// with one objective is its best trial, and has one mutant.
///
/// Defaults are those of Archai's RegularizedEvolution. Unlike there, one child is made at a time, as in the
/// paper, and a sample may be larger than the population.
/// @see Real et al., Regularized Evolution for Image Classifier Architecture Search, AAAI 2019
/// @see Archai, archai/discrete_search/algos/regularized_evolution.py (v1.0.0)
class RegularizedEvolution final : public PoolSearcher {
 public:
  RegularizedEvolution(const AgeingOptions& options, const SearchProblem& problem)
      : PoolSearcher("regularized_evolution", problem, options.trials),
        options_(options),
        variation_(pool(), options.mutation_probability) {}

 private:
  std::optional<trial::Proposal> next() override {
    if (is_exhausted()) return std::nullopt;
    if (asked() < options_.initial) return draw(trial::Origin::kInitial);
    if (population_.empty()) return draw(trial::Origin::kRandom);
    auto child = variation_.mutant(drawn_parent(), 0, random());
    return child ? std::move(child) : draw(trial::Origin::kRandom);
  }

  void learn(const trial::CommittedTrial& committed) override {
    auto values = pool().objectives().minimized(committed);
    if (!values) return;
    population_.push_back(
        {{committed.trial.number, committed.trial.proposal.architecture}, *std::move(values)});
    if (population_.size() > options_.population) population_.pop_front();
  }

  const Parent& drawn_parent() {
    ParetoArchive front(pool().objectives().objectives().size());
    std::vector<std::size_t> places(population_.size());
    std::iota(places.begin(), places.end(), std::size_t{0});
    for (std::size_t drawn = 0; drawn < std::min(options_.sample, places.size()); ++drawn) {
      std::swap(places[drawn], places[drawn + random().below(places.size() - drawn)]);
      front.insert(places[drawn], population_[places[drawn]].values);
    }
    return population_[front.keys()[random().below(front.size())]].parent;
  }

  struct Member {
    Parent parent;
    std::vector<double> values;  // minimized
  };

  AgeingOptions options_;
  VariationOperators variation_;
  std::deque<Member> population_;  // the oldest one first
};

}  // namespace

Algorithm regularized_evolution() {
  using Options = AgeingOptions;
  const Range counted = at_least(1).at_most(kMostCounted);
  const OptionTable<Options> options{
      {"trials", &Options::trials, counted, "Maximum number of trials of the search.", KeyRule::kMayChange},
      {"initial", &Options::initial, counted, "Random architectures before the first mutant."},
      {"population", &Options::population, counted, "Newest results that may have children."},
      {"sample", &Options::sample, counted,
       "As many of these are drawn for a child, whose parent is on their front."},
      {"mutation_probability", &Options::mutation_probability, above(0).at_most(1),
       "Probability of each used parameter to change in a mutant."}};
  Algorithm algorithm = make_algorithm<RegularizedEvolution>(
      "regularized_evolution", "Mutants of the best of a random sample; the oldest results leave.", options);
  algorithm.window = 8;
  algorithm.uses_known = true;
  algorithm.can_repeat = true;
  return algorithm;
}

}  // namespace skyline::search
