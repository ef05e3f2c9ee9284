#pragma once

#include "skyline/trial/trial.hpp"

#include <cstdint>
#include <limits>

namespace skyline::trial {

/// Proposal::final_repeat of a refit: the last full training of a member of the final front, on the training
/// and the validation samples, with the seed of the first one. Its budget are the epochs after which that one
/// kept its weights, its horizon those of that one. It measures nothing of the validation set.
inline constexpr std::uint32_t kRefit = std::numeric_limits<std::uint32_t>::max();

inline bool is_refit(const Trial& trial) {
  return trial.proposal.final_repeat == kRefit;
}
/// Returns whether the weights of a training are a model: repeats of a full training only measure.
inline bool leaves_model(const Trial& trial) {
  return trial.proposal.final_repeat == 0 || is_refit(trial);
}

/// Returns the budget of the full trainings to which a full training belongs: a refit has another one itself.
inline const Budget& full_budget(const Trial& trial) {
  return is_refit(trial) ? trial.horizon() : trial.budget();
}

}  // namespace skyline::trial
