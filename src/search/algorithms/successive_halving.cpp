#include "core/text/wording.hpp"
#include "search/algorithms/algorithms.hpp"
#include "search/algorithms/pool_searcher.hpp"
#include "search/algorithms/rung_system.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>

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
class SuccessiveHalving final : public PoolSearcher {
 public:
  SuccessiveHalving(const HalvingOptions& options, const SearchProblem& problem)
      : PoolSearcher("successive_halving", problem, kUnlimited),
        options_(options),
        rungs_(pool(), options, problem),
        to_begin_(options.initial) {}

  bool may_continue(trial::TrialNumber number) const override {
    const std::optional<RungSystem::Position> position = rungs_.position_of(number);
    if (!position || position->rung == rungs_.promoting()) return !position;
    // The losers of a rung are known once all of its trials are.
    if (position->rung + 1 < rung_) return false;
    const std::size_t most = position->rung + 1 == rung_ ? promoted_ : most_of(position->rung);
    return rungs_[position->rung].may_rise(position->member, most);
  }
  std::string finish_reason() const override {
    return is_exhausted() ? PoolSearcher::finish_reason() : counted(options_.brackets, "bracket") + " done";
  }
  std::size_t expected_trials() const override {
    if (finished()) return asked();
    std::size_t trials = std::min(options_.initial, pool().most_candidates());
    for (std::size_t rung = 0; rung < rungs_.promoting(); ++rung) trials += most_of(rung);
    return trials * options_.brackets;
  }
  std::optional<std::size_t> generation() const override { return options_.initial; }

 private:
  std::optional<trial::Proposal> next() override {
    while (true) {
      if (to_begin_ > 0) {
        if (auto begun = rungs_.begin(draw(trial::Origin::kRandom, bracket_))) {
          --to_begin_;
          return begun;
        }
        to_begin_ = 0;
      }
      if (rung_ > 0) {
        if (auto promoted = rungs_.promote(rung_ - 1, promoted_, bracket_)) return promoted;
      }
      if (in_flight() > 0 || !begin_next_rung()) return std::nullopt;
    }
  }
  void learn(const trial::CommittedTrial& committed) override { rungs_.tell(committed); }

  /// Returns how many trials of a rung are promoted at most.
  std::size_t most_of(std::size_t rung) const {
    std::size_t most = options_.initial;
    for (std::size_t i = 0; i <= rung; ++i) most /= options_.reduction;
    return std::max<std::size_t>(most, 1);
  }

  /// Begins the next rung, or the next bracket. Returns false if there is none.
  bool begin_next_rung() {
    if (rung_ < rungs_.promoting()) {
      promoted_ = std::max<std::size_t>(rungs_[rung_].size() / options_.reduction, 1);
      ++rung_;
      return true;
    }
    if (is_exhausted() || bracket_ + 1 == options_.brackets) return false;
    ++bracket_;
    rung_ = 0;
    rungs_.clear();
    to_begin_ = options_.initial;
    return true;
  }

  HalvingOptions options_;
  RungSystem rungs_;
  std::size_t bracket_ = 0;
  std::size_t rung_ = 0;      // rung whose trials are in flight
  std::size_t to_begin_ = 0;  // architectures that are still to begin
  std::size_t promoted_ = 0;  // how many come from the rung below
};

}  // namespace

Algorithm successive_halving() {
  using Options = HalvingOptions;
  const Range counted = at_least(1).at_most(kMostCounted);
  OptionTable<Options> options{
      {"brackets", &Options::brackets, counted, "How often new architectures begin.", KeyRule::kMayChange},
      {"initial", &Options::initial, counted, "Architectures that begin in a bracket."}};
  RungOptions::add_keys(options);
  Algorithm algorithm = make_algorithm<SuccessiveHalving>(
      "successive_halving", "For comparisons: short trainings, the best of which go on, rung by rung.",
      options);
  algorithm.check = RungOptions::check;
  return algorithm;
}

}  // namespace skyline::search
