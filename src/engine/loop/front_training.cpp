#include "engine/loop/front_training.hpp"

#include <algorithm>

namespace skyline::engine {

FrontTraining::FrontTraining(const run::RunState& state, const trial::Budget& budget) {
  for (const trial::TrialNumber number : state.front().keys()) {
    if (state.log().contains({number, true}, budget)) continue;
    const trial::Proposal& member = state.search_trial(number).trial.proposal;
    proposals_.push_back({.architecture = member.architecture,
                          .origin = trial::Origin::kFront,
                          .parents = {},
                          .iteration = member.iteration,
                          .budget = budget,
                          .start = {},
                          .trains = number});
  }
}

std::vector<trial::Proposal> FrontTraining::ask(std::size_t room) {
  const std::size_t count = std::min(room, proposals_.size() - asked_);
  const auto begin = proposals_.begin() + static_cast<std::ptrdiff_t>(asked_);
  asked_ += count;
  return {begin, begin + static_cast<std::ptrdiff_t>(count)};
}

}  // namespace skyline::engine
