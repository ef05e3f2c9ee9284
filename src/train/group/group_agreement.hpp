#pragma once

#include "skyline/trial/evaluator.hpp"
#include "skyline/trial/trial_group.hpp"

#include <span>
#include <vector>

/// Messages with which the members of a group agree, so that all do the same. All functions are collective.
namespace skyline::train {

/// The wishes of a member before the next step, or those on which all have agreed.
struct Wishes {
  bool stop = false;
  bool save = false;
};

/// Sums `values` over the members, in place, in one message with the wishes. Returns all members' wishes.
Wishes agree(trial::TrialGroup& group, std::span<double> values, const Wishes& mine);

/// Copies the leader's numbers to every member.
void broadcast_numbers(trial::TrialGroup& group, std::span<double> numbers);
/// Copies the leader's state to every member.
void broadcast_state(trial::TrialGroup& group, trial::TrainingState& state);
/// Copies the leader's values to every member, which has equal names and shapes.
void broadcast_tensors(trial::TrialGroup& group, std::vector<trial::NamedTensor>& tensors);

}  // namespace skyline::train
