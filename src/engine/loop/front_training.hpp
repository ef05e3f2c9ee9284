#pragma once

#include "skyline/search/searcher.hpp"

#include "run/run_state.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <span>
#include <string>
#include <vector>

namespace skyline::engine {

/// Asks once for each of some search trials, as a rule the front's, that has not been trained with this
/// budget: the full training after the search, through the same loop.
class FrontTraining final : public search::Searcher {
 public:
  /// @param state  of a run whose search is over; read here alone
  FrontTraining(const run::RunState& state, std::span<const trial::TrialNumber> numbers,
                const trial::Budget& budget) {
    for (const trial::TrialNumber number : numbers) {
      if (state.trials().contains({number, true}, budget)) continue;
      const run::SharedTrial trial = state.search_trial(number);
      const trial::Proposal& member = trial->trial.proposal;
      proposals_.push_back({.architecture = member.architecture,
                            .origin = trial::Origin::kFront,
                            .parents = {},
                            .iteration = member.iteration,
                            .budget = budget,
                            .start = {},
                            .trains = number});
    }
  }

  std::vector<trial::Proposal> ask(std::size_t room) override {
    const std::size_t count = std::min(room, proposals_.size() - asked_);
    const auto begin = std::make_move_iterator(proposals_.begin() + static_cast<std::ptrdiff_t>(asked_));
    asked_ += count;
    return {begin, begin + static_cast<std::ptrdiff_t>(count)};
  }
  void tell(const trial::CommittedTrial&) override {}
  bool finished() const override { return asked_ == proposals_.size(); }
  std::string finish_reason() const override { return "the front is trained"; }
  std::size_t expected_trials() const override { return proposals_.size(); }

 private:
  std::vector<trial::Proposal> proposals_;
  std::size_t asked_ = 0;
};

}  // namespace skyline::engine
