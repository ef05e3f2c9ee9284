#include "engine/loop/front_training.hpp"

#include "search/algorithms/proposal_list.hpp"

#include <utility>
#include <vector>

namespace skyline::engine {

std::unique_ptr<search::Searcher> front_training(const run::RunState& state,
                                                 std::span<const trial::TrialNumber> numbers,
                                                 const trial::Budget& budget) {
  std::vector<trial::Proposal> proposals;
  for (const trial::TrialNumber number : numbers) {
    if (state.trials().contains({number, true}, budget)) continue;
    const run::SharedTrial trial = state.search_trial(number);
    const trial::Proposal& member = trial->trial.proposal;
    proposals.push_back({.architecture = member.architecture,
                         .origin = trial::Origin::kFront,
                         .parents = {},
                         .iteration = member.iteration,
                         .budget = budget,
                         .start = {},
                         .repeat = member.repeat,
                         .trains = number});
  }
  return std::make_unique<search::ProposalList>(std::move(proposals), "full training");
}

}  // namespace skyline::engine
