#include "engine/loop/front_training.hpp"

#include "search/algorithms/proposal_list.hpp"
#include "search/pareto/ranking.hpp"
#include "trial/refit.hpp"

#include <algorithm>
#include <iterator>
#include <numeric>
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

std::vector<trial::TrialNumber> with_rivals(const run::RunState& state, std::vector<trial::TrialNumber> front,
                                            std::size_t members) {
  if (front.size() >= members) return front;
  std::vector<trial::TrialNumber> others;
  std::vector<std::vector<double>> values;
  for (const run::SharedTrial& committed : state.trials()) {
    const trial::Trial& trial = committed->trial;
    if (trial.is_final() || trial.may_be_continued() || state.on_front(trial.number) ||
        state.first_repeat(trial) != trial.number) {
      continue;
    }
    auto minimized = state.objectives().minimized(*state.search_mean(trial.number));
    if (!minimized) continue;
    others.push_back(trial.number);
    values.push_back(*std::move(minimized));
  }
  const std::vector<std::size_t> ranks = search::front_ranks(values);
  std::vector<std::size_t> order(others.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return std::pair(ranks[i], values[i].front()); });
  order.resize(std::min(order.size(), members - front.size()));
  for (const std::size_t i : order) front.push_back(others[i]);
  return front;
}

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
