#include "skyline/core/random.hpp"

#include "core/text/wording.hpp"
#include "search/algorithms/algorithms.hpp"
#include "search/algorithms/ladder.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

namespace skyline::search {
namespace {

struct HalvingOptions : RungOptions {
  std::size_t brackets = 1;
  std::size_t initial = 27;
};

/// Successive halving for several objectives. All trials of a rung are waited for; then the best of them, one
/// of so many as `reduction` says, are continued on the next one. A bracket is a way from the first rung to
/// the last.
/// @see Jamieson and Talwalkar, Non-stochastic Best Arm Identification and Hyperparameter Optimization, 2016
class SuccessiveHalving final : public Searcher {
 public:
  SuccessiveHalving(const HalvingOptions& options, const SearchProblem& problem)
      : options_(options),
        pool_(problem.space, problem.objectives, problem.budget),
        ladder_(pool_, options, problem),
        random_(derive_seed(problem.seed, "search.successive_halving")),
        to_begin_(options.initial) {}

  Answer ask(std::size_t room) override {
    std::vector<trial::Proposal> proposals;
    const auto add = [&](trial::Proposal proposal) {
      proposals.push_back(std::move(proposal));
      ++asked_;
      ++in_flight_;
    };
    const std::size_t end = pool_.looks() + CandidatePool::kLooksOfAnAsk;
    while (to_begin_ > 0 && proposals.size() < room) {
      if (pool_.looks() >= end) return {std::move(proposals), Answer::State::kMore};
      std::optional<trial::Proposal> begun = ladder_.begin(random_, bracket_);
      exhausted_ = !begun;
      to_begin_ = begun ? to_begin_ - 1 : 0;
      if (begun) add(*std::move(begun));
    }
    if (exhausted_ && finished()) climb();
    while (proposals.size() < room && can_promote()) add(*ladder_.promote(rung_ - 1, promoted_, bracket_));
    return {std::move(proposals)};
  }

  void tell(const trial::CommittedTrial& committed) override {
    --in_flight_;
    ladder_.tell(committed);
    if (finished()) climb();
  }

  bool may_continue(trial::TrialNumber number) const override {
    const std::optional<Ladder::Place> place = ladder_.place_of(number);
    if (!place || place->rung == ladder_.promoting()) return !place;
    // The losers of a rung are known once all of its trials are.
    if (place->rung + 1 < rung_) return false;
    const std::size_t most = place->rung + 1 == rung_ ? promoted_ : most_of(place->rung);
    return ladder_[place->rung].may_rise(place->member, most);
  }

  bool finished() const override { return in_flight_ == 0 && to_begin_ == 0 && !can_promote(); }
  bool gave_up() const override { return exhausted_ && !pool_.is_exhausted(); }
  std::string finish_reason() const override {
    return exhausted_ ? pool_.exhaustion_reason() : counted(options_.brackets, "bracket") + " done";
  }
  std::size_t expected_trials() const override {
    if (finished()) return asked_;
    std::size_t trials = std::min(options_.initial, pool_.most_candidates());
    for (std::size_t rung = 0; rung < ladder_.promoting(); ++rung) trials += most_of(rung);
    return trials * options_.brackets;
  }
  std::optional<std::size_t> generation() const override { return options_.initial; }

 private:
  /// Returns how many trials of a rung are promoted at most.
  std::size_t most_of(std::size_t rung) const {
    std::size_t most = options_.initial;
    for (std::size_t i = 0; i <= rung; ++i) most /= options_.reduction;
    return std::max<std::size_t>(most, 1);
  }

  bool can_promote() const { return rung_ > 0 && ladder_[rung_ - 1].next_to_promote(promoted_).has_value(); }

  /// Begins the next rung, or the next bracket.
  void climb() {
    if (rung_ < ladder_.promoting()) {
      promoted_ = std::max<std::size_t>(ladder_[rung_].size() / options_.reduction, 1);
      ++rung_;
      if (can_promote()) return;
    }
    if (exhausted_ || bracket_ + 1 == options_.brackets) return;
    ++bracket_;
    rung_ = 0;
    ladder_.clear();
    to_begin_ = options_.initial;
  }

  HalvingOptions options_;
  CandidatePool pool_;
  Ladder ladder_;
  RandomStream random_;
  std::size_t bracket_ = 0;
  std::size_t rung_ = 0;      // whose trials are in flight
  std::size_t to_begin_ = 0;  // architectures that are still to begin
  std::size_t promoted_ = 0;  // how many come from the rung below
  std::size_t asked_ = 0;
  std::size_t in_flight_ = 0;
  bool exhausted_ = false;
};

}  // namespace

Algorithm successive_halving() {
  using Options = HalvingOptions;
  const Range counted = at_least(1).at_most(kMostCounted);
  const OptionTable<Options> options{
      {"brackets", &Options::brackets, counted, "How often new architectures begin.", KeyRule::kMayChange},
      {"initial", &Options::initial, counted, "Architectures that begin in a bracket."},
      {"budgets", &Options::budgets, RungOptions::budgets_kind(), RungOptions::kBudgetsMeaning},
      {"reduction", &Options::reduction, RungOptions::reduction_range(), RungOptions::kReductionMeaning}};
  return make_algorithm<SuccessiveHalving>(
      "successive_halving", "Short trainings, the best of which go on, rung by rung.", options);
}

}  // namespace skyline::search
