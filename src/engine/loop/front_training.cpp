#include "engine/loop/front_training.hpp"

#include "search/algorithms/proposal_list.hpp"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

namespace skyline::engine {

std::unique_ptr<search::Searcher> front_training(const run::RunState& state,
                                                 std::span<const trial::TrialNumber> numbers,
                                                 const trial::Budget& budget, std::uint32_t repeats) {
  std::vector<trial::TrialNumber> trained(numbers.begin(), numbers.end());
  if (repeats > 1 && state.final_budget() == budget) {
    std::ranges::remove_copy_if(state.final_front().keys(), std::back_inserter(trained),
                                [&](trial::TrialNumber number) { return state.on_front(number); });
  }
  std::vector<trial::Proposal> proposals;
  for (std::uint32_t repeat = 0; repeat < repeats; ++repeat) {
    for (const trial::TrialNumber number : trained) {
      if (state.trials().contains({number, true, repeat}, budget)) continue;
      const run::SharedTrial trial = state.search_trial(number);
      const trial::Proposal& member = trial->trial.proposal;
      proposals.push_back({.architecture = member.architecture,
                           .origin = trial::Origin::kFront,
                           .parents = {},
                           .iteration = member.iteration,
                           .budget = budget,
                           .start = {},
                           .repeat = member.repeat,
                           .trains = number,
                           .final_repeat = repeat});
    }
  }
  return std::make_unique<search::ProposalList>(std::move(proposals), "full training");
}

}  // namespace skyline::engine
