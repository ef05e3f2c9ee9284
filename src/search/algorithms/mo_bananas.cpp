#include "search/algorithms/algorithms.hpp"
#include "search/algorithms/model_searcher.hpp"
#include "search/pareto/ranking.hpp"

#include <algorithm>
#include <unordered_set>
#include <utility>

namespace skyline::search {
namespace {

constexpr int kTries = 30;  // attempts at a mutant that was not proposed

struct BananasOptions {
  std::size_t trials = 100;
  std::size_t initial = 10;
  std::size_t parents = 10;
  std::size_t mutations_per_parent = 5;
  std::size_t batch = 10;
  double mutation_probability = 0.3;
};

/// Chooses among mutants of the best trials. What a model expects of each is a distribution, of which one
/// value is drawn for each objective (Thompson sampling); a mutant on the front of these values is taken.
class ThompsonSampling final : public AcquisitionStrategy {
 public:
  explicit ThompsonSampling(const BananasOptions& options) : options_(options) {}

  CandidatePointer choose(const Context& context, RandomStream& random) override {
    std::vector<CandidatePointer> mutants;
    std::unordered_set<space::ArchId> ids;
    for (const CandidatePointer& parent : context.model.first_fronts(options_.parents)) {
      for (std::size_t i = 0; i < options_.mutations_per_parent; ++i) {
        CandidatePointer mutant = mutant_of(*parent, context, random);
        if (mutant != nullptr && ids.insert(mutant->architecture->id).second)
          mutants.push_back(std::move(mutant));
      }
    }
    if (mutants.empty()) return nullptr;
    const std::vector<std::size_t> ranks = front_ranks(context.model.sampled(mutants, random));
    std::vector<std::size_t> front;
    for (std::size_t i = 0; i < mutants.size(); ++i) {
      if (ranks[i] == 0) front.push_back(i);
    }
    return mutants[front[random.below(front.size())]];
  }

 private:
  CandidatePointer mutant_of(const Candidate& parent, const Context& context, RandomStream& random) const {
    for (int i = 0; i < kTries; ++i) {
      const auto genotype =
          context.pool.space().mutate(parent.architecture->genotype, options_.mutation_probability, random);
      const ArchitecturePointer built = genotype ? context.pool.candidate(*genotype) : nullptr;
      if (built != nullptr) return make_candidate(context.embedding, *built, space::features(*built));
    }
    return nullptr;
  }

  BananasOptions options_;
};

/// Archai's MoBananas, with a Gaussian process in place of its ensemble of networks. Each trial of a batch is
/// chosen by a draw of its own, so that a batch can be resumed. Its first trials are random.
/// @see White et al., BANANAS: Bayesian Optimization with Neural Architectures for Neural Architecture
///      Search, AAAI 2021
/// @see Archai, archai/discrete_search/algos/bananas.py (v1.0.0)
class MoBananas final : public ModelSearcher {
 public:
  MoBananas(const BananasOptions& options, const SearchProblem& problem)
      : ModelSearcher({"mo_bananas", options.trials, options.batch, options.initial, false}, problem,
                      std::make_unique<ThompsonSampling>(options)) {}
};

}  // namespace

Algorithm mo_bananas() {
  using Options = BananasOptions;
  const Range counted = at_least(1).at_most(kMostCounted);
  const OptionTable<Options> options{
      {"trials", &Options::trials, counted, "Maximum number of trials of the search.", KeyRule::kMayChange},
      {"initial", &Options::initial, counted, "Random architectures before the model is asked."},
      {"parents", &Options::parents, counted, "Trials of the first fronts whose mutants are looked at."},
      {"mutations_per_parent", &Options::mutations_per_parent, at_least(1).at_most(kMostChildren),
       "Mutants of each that are looked at."},
      {"batch", &Options::batch, counted, "Number of trials that are chosen from the same results."},
      {"mutation_probability", &Options::mutation_probability, above(0).at_most(1),
       "Probability of each used parameter to change in a mutant."}};
  Algorithm algorithm = make_algorithm<MoBananas>(
      "mo_bananas",
      "For comparisons with Archai: mutants of the best, by values drawn from a model of the results.",
      options);
  algorithm.window = 8;
  algorithm.uses_known = true;
  algorithm.can_repeat = true;
  return algorithm;
}

}  // namespace skyline::search
