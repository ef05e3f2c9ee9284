#include "search/algorithms/algorithms.hpp"
#include "search/algorithms/pool_searcher.hpp"

namespace skyline::search {
namespace {

struct RandomOptions {
  std::size_t trials = 100;
};

/// Proposes random samples of the valid architectures, none twice. It needs no results, and is the control of
/// every comparison.
class RandomSearch final : public PoolSearcher {
 public:
  RandomSearch(const RandomOptions& options, const SearchProblem& problem)
      : PoolSearcher("random", problem, options.trials) {}

  bool needs_results() const override { return false; }

 private:
  std::optional<trial::Proposal> next() override { return draw(trial::Origin::kRandom); }
};

}  // namespace

Algorithm random_search() {
  const OptionTable<RandomOptions> options{{"trials", &RandomOptions::trials,
                                            at_least(1).at_most(kMostCounted),
                                            "Maximum number of trials of the search.", KeyRule::kMayChange}};
  Algorithm algorithm = make_algorithm<RandomSearch>(
      "random", "Random valid architectures, the control of every comparison.", options);
  algorithm.can_repeat = true;
  return algorithm;
}

}  // namespace skyline::search
