#include "engine/front_training.hpp"

#include <algorithm>

namespace skyline::engine {

FrontTraining::FrontTraining(const std::vector<objective::Trial>& front) {
  for (const objective::Trial& trial : front) {
    proposals_.push_back(
        {trial.proposal.architecture, objective::Origin::kFront, {trial.number}, trial.proposal.iteration});
  }
}

std::vector<objective::Proposal> FrontTraining::ask(std::size_t room) {
  const std::size_t count = std::min(room, proposals_.size() - asked_);
  const auto begin = proposals_.begin() + static_cast<std::ptrdiff_t>(asked_);
  asked_ += count;
  return {begin, begin + static_cast<std::ptrdiff_t>(count)};
}

}  // namespace skyline::engine
