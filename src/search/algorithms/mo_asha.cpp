#include "search/algorithms/algorithms.hpp"
#include "search/algorithms/pool_searcher.hpp"
#include "search/algorithms/rung_system.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace skyline::search {
namespace {

struct AshaOptions : RungOptions {
  std::size_t trials = 100;
  std::optional<std::size_t> brackets;  // one unless given
};

/// Asynchronous successive halving for several objectives. Each proposal continues the best trial of the
/// highest rung that has one to promote; of so many results as `reduction` says one is. If no rung has one, a
/// random architecture begins: on the first rung, or, with several brackets, on that of the bracket which is
/// the farthest behind its share. A rung has the results of all brackets. No trial is waited for, and none is
/// stopped by what arrives while it trains. Only a search in which no trial has come to the last rung spends
/// its end on that, since it would have no front.
/// @see Schmucker et al., Multi-objective Asynchronous Successive Halving, 2021
/// @see Li et al., A System for Massively Parallel Hyperparameter Tuning, MLSys 2020
/// @see Li et al., Hyperband, JMLR 18, 2018, for the shares of brackets
/// @see Klein et al., Model-based Asynchronous Hyperparameter and Neural Architecture Search, 2020, for rungs
/// that brackets share
class MoAsha final : public PoolSearcher {
 public:
  MoAsha(const AshaOptions& options, const SearchProblem& problem)
      : PoolSearcher("mo_asha", problem, options.trials),
        options_(options),
        rungs_(pool(), options, problem),
        begun_(options.brackets.value_or(1)) {}

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
      const std::optional<trial::Proposal> begun = begin();
      if (!begun || begun->architecture->id != recorded.architecture->id || begun->budget != recorded.budget)
        return false;
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
    return begin();
  }

  /// Returns a proposal of a random architecture on the rung of a bracket.
  std::optional<trial::Proposal> begin() {
    const std::size_t bracket = next_bracket();
    std::optional<trial::Proposal> begun = rungs_.begin(draw(trial::Origin::kRandom), bracket);
    if (begun) {
      ++begun_[bracket];
      highest_ = std::max(highest_, bracket);
    }
    return begun;
  }

  /// Returns the bracket that has the fewest trials for its share, and begins on the rung of this number. A
  /// share is as in Hyperband, where each bracket costs the same: reduction^n / (n + 1), n rungs below the
  /// last one.
  std::size_t next_bracket() const {
    std::size_t next = 0;
    double fewest = std::numeric_limits<double>::infinity();
    for (std::size_t bracket = begun_.size(); bracket-- > 0;) {
      const std::size_t below = rungs_.promoting() - bracket;
      double share = 1 / static_cast<double>(below + 1);
      for (std::size_t rung = 0; rung < below; ++rung) share *= static_cast<double>(options_.reduction);
      const double filled = static_cast<double>(begun_[bracket] + 1) / share;
      if (filled > fewest) continue;
      fewest = filled;
      next = bracket;
    }
    return next;
  }

  /// Returns how many trials of a rung may ever be promoted: a member has cost one on each rung up to it,
  /// from that of the last bracket on.
  std::size_t most_of(std::size_t rung) const {
    const std::size_t cost = rung + 1 - std::min(rung, begun_.size() - 1);
    return std::max<std::size_t>(options_.trials / cost / options_.reduction, 1);
  }

  std::optional<trial::Proposal> promote(std::size_t rung, std::size_t most) {
    auto promoted = rungs_.promote(rung, most, rung + 1);
    if (promoted) highest_ = std::max(highest_, rung + 1);
    return promoted;
  }

  void learn(const trial::CommittedTrial& committed) override { rungs_.tell(committed); }

  AshaOptions options_;
  RungSystem rungs_;
  std::vector<std::size_t> begun_;  // trials of each bracket
  std::size_t highest_ = 0;         // rung of a proposal
  bool awaits_promotion_to_top_ =
      false;  // the next proposal that was recorded is one, and results are missing
};

}  // namespace

Algorithm mo_asha() {
  using Options = AshaOptions;
  OptionTable<Options> options{
      {"trials", &Options::trials, at_least(1).at_most(kMostCounted),
       "Maximum number of trials of the search; one that is continued counts again.", KeyRule::kMayChange},
      {"brackets", &Options::brackets,
       if_given(integer<std::size_t>(at_least(1).at_most(RungOptions::kMostRungs))),
       "On how many of the rungs trials begin: each bracket on the next one, for "
       "where short trainings mislead. One unless given."}};
  RungOptions::add_keys(options);
  Algorithm algorithm = make_algorithm<MoAsha>(
      "mo_asha", "Short trainings, the best of which go on at once (asynchronous successive halving).",
      options);
  algorithm.window = 8;
  algorithm.check = [](const ConfigNode& section, const trial::Budget& full) {
    RungOptions::check(section, full);
    const ConfigNode* budgets = section.is_map() ? section.find("budgets") : nullptr;
    const bool stated = budgets != nullptr && budgets->is_list();
    if (!stated) RungOptions::check_trials(section, kUnstatedRungs);
    const std::size_t rungs = stated ? budgets->items().size() : kUnstatedRungs;
    const ConfigNode* brackets = section.is_map() ? section.find("brackets") : nullptr;
    if (brackets != nullptr && brackets->as_integer() > static_cast<std::int64_t>(rungs)) {
      brackets->fail("expected at most " + std::to_string(rungs) + ", one for each of the `budgets`, got " +
                     brackets->as_text());
    }
  };
  return algorithm;
}

}  // namespace skyline::search
