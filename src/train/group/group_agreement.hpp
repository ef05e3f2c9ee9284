#pragma once

#include "skyline/trial/evaluator.hpp"
#include "skyline/trial/trial_group.hpp"

#include <span>
#include <vector>

/// Messages by which the members of a group act alike. All functions are collective.
namespace skyline::train {

/// The wishes of a member before the next step, or those that all have agreed on.
struct Wishes {
  bool stop = false;
  bool save = false;
};

/// Sums `values` over the members, in place, in one message with the wishes.
/// @return the wishes of any member
Wishes agree(trial::TrialGroup& group, std::span<double> values, const Wishes& mine);

/// Copies the leader's numbers to every member.
void broadcast_numbers(trial::TrialGroup& group, std::span<double> numbers);
/// Copies the leader's state to every member.
void broadcast_state(trial::TrialGroup& group, trial::TrainingState& state);
/// Copies the leader's values to every member; names and shapes are equal already.
void broadcast_tensors(trial::TrialGroup& group, std::vector<trial::NamedTensor>& tensors);

}  // namespace skyline::train
