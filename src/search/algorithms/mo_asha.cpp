#include "search/algorithms/algorithms.hpp"
#include "search/algorithms/pool_searcher.hpp"
#include "search/algorithms/rung_system.hpp"

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
/// it trains. Only a search in which no trial has come to the last rung spends its end on that, since it
/// would have no front.
/// @see Schmucker et al., Multi-objective Asynchronous Successive Halving, 2021
/// @see Li et al., A System for Massively Parallel Hyperparameter Tuning, MLSys 2020
class MoAsha final : public PoolSearcher {
 public:
  MoAsha(const AshaOptions& options, const SearchProblem& problem)
      : PoolSearcher("mo_asha", problem, options.trials),
        options_(options),
        rungs_(pool(), options, problem) {}

  bool may_continue(trial::TrialNumber number) const override {
    const std::optional<RungSystem::Position> position = rungs_.position_of(number);
    if (!position || position->rung == rungs_.promoting()) return !position;
    const bool may_promote_to_top = highest_ < rungs_.promoting();
    return rungs_[position->rung].may_rise(
        position->member, may_promote_to_top ? rungs_[position->rung].size() : most_of(position->rung));
  }
  /// The number of trials may have been another one when the proposal was made, so it is not made anew. What
  /// was promoted to the top waits for the results for which it waited then.
  bool accept(const trial::Proposal& recorded) override {
    if (finished()) return false;
    awaits_promotion_to_top_ = recorded.origin == kPromotionToTop && in_flight() > 0;
    if (awaits_promotion_to_top_) return false;
    if (const auto* earlier = std::get_if<trial::Continue>(&recorded.start)) {
      const std::optional<RungSystem::Position> position = rungs_.position_of(earlier->from);
      if (!position || rungs_.is_promoted(*position)) return false;
      rungs_.promote(*position, position->rung + 1);
      highest_ = std::max(highest_, position->rung + 1);
    } else {
      const std::optional<trial::Proposal> drawn = draw(trial::Origin::kRandom);
      if (!drawn || drawn->architecture->id != recorded.architecture->id) return false;
    }
    count_accepted();
    return true;
  }
  std::size_t expected_trials() const override {
    const std::size_t architectures = std::min(options_.trials, pool().most_candidates());
    return std::min(options_.trials, architectures * rungs_.budgets().size());
  }

 private:
  std::optional<trial::Proposal> next() override {
    if (awaits_promotion_to_top_) return std::nullopt;
    const bool promotes_to_top = rungs_.must_promote_to_top(highest_, places_left());
    if (!promotes_to_top) {
      if (auto proposal = next_of_rungs()) return proposal;
      if (!is_exhausted()) return std::nullopt;
    }
    if (highest_ == rungs_.promoting() || in_flight() > 0) return std::nullopt;
    for (std::size_t rung = highest_ + 1; rung-- > 0;) {
      if (auto promoted = promote(rung, rungs_[rung].size())) {
        promoted->origin = kPromotionToTop;
        return promoted;
      }
    }
    return promotes_to_top ? next_of_rungs() : std::nullopt;
  }

  std::optional<trial::Proposal> next_of_rungs() {
    for (std::size_t rung = rungs_.promoting(); rung-- > 0;) {
      if (auto promoted = promote(rung, rungs_[rung].size() / options_.reduction)) return promoted;
    }
    // What begins with too few trials left does not become whole.
    const std::size_t left = places_left();
    for (std::size_t rung = rungs_.promoting(); left <= rungs_.promoting() && rung-- > 0;) {
      if (rungs_.promoting() - rung > left) break;
      if (auto promoted = promote(rung, most_of(rung))) return promoted;
    }
    return rungs_.begin(draw(trial::Origin::kRandom));
  }

  /// Returns how many trials of a rung may ever be promoted: a member has cost one on each rung up to it.
  std::size_t most_of(std::size_t rung) const {
    return std::max<std::size_t>(options_.trials / (rung + 1) / options_.reduction, 1);
  }

  std::optional<trial::Proposal> promote(std::size_t rung, std::size_t most) {
    auto promoted = rungs_.promote(rung, most, rung + 1);
    if (promoted) highest_ = std::max(highest_, rung + 1);
    return promoted;
  }

  void learn(const trial::CommittedTrial& committed) override { rungs_.tell(committed); }

  AshaOptions options_;
  RungSystem rungs_;
  std::size_t highest_ = 0;  // rung of a proposal
  bool awaits_promotion_to_top_ =
      false;  // the next proposal that was recorded is one, and results are missing
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
  algorithm.check = [](const ConfigNode& section, const trial::Budget& full) {
    RungOptions::check(section, full);
    const ConfigNode* budgets = section.is_map() ? section.find("budgets") : nullptr;
    if (budgets == nullptr || !budgets->is_list()) RungOptions::check_trials(section, kUnstatedRungs);
  };
  return algorithm;
}

}  // namespace skyline::search
