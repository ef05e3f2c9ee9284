#include "search/algorithms/algorithms.hpp"
#include "search/algorithms/ladder.hpp"
#include "search/algorithms/pool_searcher.hpp"

#include <algorithm>
#include <cstddef>

namespace skyline::search {
namespace {

struct AshaOptions : RungOptions {
  std::size_t trials = 100;
};

/// Asynchronous successive halving for several objectives. Each proposal continues the best trial of the
/// highest rung that has one to promote; of so many results as `reduction` says one is. If no rung has one, a
/// random architecture begins on the first. No trial is waited for, and none is stopped by what arrives while
/// it trains.
/// @see Schmucker et al., Multi-objective Asynchronous Successive Halving, 2021
/// @see Li et al., A System for Massively Parallel Hyperparameter Tuning, MLSys 2020
class MoAsha final : public PoolSearcher {
 public:
  MoAsha(const AshaOptions& options, const SearchProblem& problem)
      : PoolSearcher("mo_asha", problem, options.trials),
        options_(options),
        ladder_(pool(), options, problem) {}

  bool may_continue(trial::TrialNumber number) const override {
    const std::optional<Ladder::Place> place = ladder_.place_of(number);
    if (!place || place->rung == ladder_.promoting()) return !place;
    // A member of a rung has cost a trial on each rung up to it.
    const std::size_t most = options_.trials / (place->rung + 1) / options_.reduction;
    return ladder_[place->rung].may_rise(place->member, most);
  }
  std::size_t expected_trials() const override {
    const std::size_t architectures = std::min(options_.trials, pool().most_candidates());
    return std::min(options_.trials, architectures * ladder_.budgets().size());
  }

 private:
  std::optional<trial::Proposal> next() override {
    for (std::size_t rung = ladder_.promoting(); rung-- > 0;) {
      const std::size_t most = ladder_[rung].size() / options_.reduction;
      if (auto promoted = ladder_.promote(rung, most, rung + 1)) return promoted;
    }
    return ladder_.begin(draw(trial::Origin::kRandom));
  }
  void learn(const trial::CommittedTrial& committed) override { ladder_.tell(committed); }

  AshaOptions options_;
  Ladder ladder_;
};

}  // namespace

Algorithm mo_asha() {
  using Options = AshaOptions;
  OptionTable<Options> options{{"trials", &Options::trials, at_least(1).at_most(kMostCounted),
                                "Maximum number of trials of the search; one that is continued counts again.",
                                KeyRule::kMayChange}};
  RungOptions::add_keys(options);
  Algorithm algorithm = make_algorithm<MoAsha>(
      "mo_asha", "Short trainings, the best of which go on at once (asynchronous successive halving).",
      options);
  algorithm.window = 8;
  algorithm.check = RungOptions::check;
  return algorithm;
}

}  // namespace skyline::search
