#include "engine/loop/front_training.hpp"

#include "search/algorithms/proposal_list.hpp"
#include "trial/refit.hpp"

#include <algorithm>
#include <iterator>
#include <utility>
#include <variant>
#include <vector>

namespace skyline::engine {

namespace {

trial::Proposal full_training(const run::RunState& state, trial::TrialNumber number,
                              const trial::Budget& budget, std::uint32_t repeat) {
  const run::SharedTrial trial = state.search_trial(number);
  const trial::Proposal& member = trial->trial.proposal;
  return {.architecture = member.architecture,
          .origin = trial::Origin::kFront,
          .parents = {},
          .iteration = member.iteration,
          .budget = budget,
          .start = {},
          .repeat = member.repeat,
          .trains = number,
          .final_repeat = repeat};
}

}  // namespace

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
      proposals.push_back(full_training(state, number, budget, repeat));
    }
  }
  return std::make_unique<search::ProposalList>(std::move(proposals), "full training");
}

std::unique_ptr<search::Searcher> front_refit(const run::RunState& state,
                                              const std::optional<std::size_t>& kept_epochs) {
  std::vector<trial::Proposal> proposals;
  for (const trial::TrialNumber number : state.final_front().keys()) {
    const trial::Budget& full = state.final_budget().value();
    const run::SharedTrial first = state.final_training(number);
    const auto* measured = std::get_if<trial::Measurements>(&first->outcome);
    if (measured == nullptr || state.trials().contains({number, true, trial::kRefit}, full)) continue;
    trial::Proposal& refit = proposals.emplace_back(full_training(state, number, full, trial::kRefit));
    refit.horizon = full;
    if (kept_epochs && measured->values.at(*kept_epochs) > 0) refit.budget = {measured->values[*kept_epochs]};
  }
  return std::make_unique<search::ProposalList>(std::move(proposals), "refit");
}

}  // namespace skyline::engine
