#include "engine/loop/front_training.hpp"

#include <algorithm>

namespace skyline::engine {

FrontTraining::FrontTraining(const std::vector<trial::Trial>& front) {
  for (const trial::Trial& trial : front) {
    proposals_.push_back({.architecture = trial.proposal.architecture,
                          .origin = trial::Origin::kFront,
                          .parents = {},
                          .iteration = trial.proposal.iteration,
                          .trains = trial.number});
  }
}

std::vector<trial::Proposal> FrontTraining::ask(std::size_t room) {
  const std::size_t count = std::min(room, proposals_.size() - asked_);
  const auto begin = proposals_.begin() + static_cast<std::ptrdiff_t>(asked_);
  asked_ += count;
  return {begin, begin + static_cast<std::ptrdiff_t>(count)};
}

}  // namespace skyline::engine
