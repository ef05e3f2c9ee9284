#include "skyline/core/random.hpp"

#include "core/text/wording.hpp"
#include "search/algorithms/algorithms.hpp"
#include "search/algorithms/ladder.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

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
class MoAsha final : public Searcher {
 public:
  MoAsha(const AshaOptions& options, const SearchProblem& problem)
      : options_(options),
        pool_(problem.space, problem.objectives, problem.budget),
        ladder_(pool_, options, problem),
        random_(derive_seed(problem.seed, "search.mo_asha")) {}

  Answer ask(std::size_t room) override {
    std::vector<trial::Proposal> proposals;
    const std::size_t end = pool_.looks() + CandidatePool::kLooksOfAnAsk;
    while (proposals.size() < room && asked_ < options_.trials) {
      std::optional<trial::Proposal> next = promotion();
      if (!next && pool_.looks() >= end) return {std::move(proposals), Answer::State::kMore};
      if (!next && !exhausted_) {
        next = ladder_.begin(random_);
        exhausted_ = !next;
      }
      if (!next) break;
      ++asked_;
      ++in_flight_;
      proposals.push_back(*std::move(next));
    }
    return {std::move(proposals)};
  }

  void tell(const trial::CommittedTrial& committed) override {
    --in_flight_;
    ladder_.tell(committed);
  }

  bool may_continue(trial::TrialNumber number) const override {
    const std::optional<Ladder::Place> place = ladder_.place_of(number);
    if (!place || place->rung == ladder_.promoting()) return !place;
    // A member of a rung has cost a trial on each rung up to it.
    const std::size_t most = options_.trials / (place->rung + 1) / options_.reduction;
    return ladder_[place->rung].may_rise(place->member, most);
  }

  bool finished() const override {
    return asked_ == options_.trials || (exhausted_ && in_flight_ == 0 && !can_promote());
  }
  bool gave_up() const override { return asked_ < options_.trials && exhausted_ && !pool_.is_exhausted(); }
  std::string finish_reason() const override {
    return asked_ == options_.trials ? counted(options_.trials, "trial") + " done"
                                     : pool_.exhaustion_reason();
  }
  std::size_t expected_trials() const override {
    const std::size_t architectures = std::min(options_.trials, pool_.most_candidates());
    return std::min(options_.trials, architectures * ladder_.budgets().size());
  }

 private:
  std::size_t most_of(std::size_t rung) const { return ladder_[rung].size() / options_.reduction; }

  bool can_promote() const {
    for (std::size_t rung = 0; rung < ladder_.promoting(); ++rung) {
      if (ladder_[rung].next_to_promote(most_of(rung))) return true;
    }
    return false;
  }

  std::optional<trial::Proposal> promotion() {
    for (std::size_t rung = ladder_.promoting(); rung-- > 0;) {
      if (auto promoted = ladder_.promote(rung, most_of(rung), rung + 1)) return promoted;
    }
    return std::nullopt;
  }

  AshaOptions options_;
  CandidatePool pool_;
  Ladder ladder_;
  RandomStream random_;
  std::size_t asked_ = 0;
  std::size_t in_flight_ = 0;
  bool exhausted_ = false;
};

}  // namespace

Algorithm mo_asha() {
  using Options = AshaOptions;
  const OptionTable<Options> options{
      {"trials", &Options::trials, at_least(1).at_most(kMostCounted),
       "Maximum number of trials of the search; one that is continued counts again.", KeyRule::kMayChange},
      {"budgets", &Options::budgets, RungOptions::budgets_kind(), RungOptions::kBudgetsMeaning},
      {"reduction", &Options::reduction, RungOptions::reduction_range(), RungOptions::kReductionMeaning}};
  Algorithm algorithm = make_algorithm<MoAsha>(
      "mo_asha", "Short trainings, the best of which go on at once (asynchronous successive halving).",
      options);
  algorithm.window = 8;
  return algorithm;
}

}  // namespace skyline::search
