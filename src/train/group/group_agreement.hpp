#pragma once

#include "skyline/trial/evaluator.hpp"
#include "skyline/trial/trial_group.hpp"

#include <span>
#include <vector>

/// What the members of a group tell each other so that all of them go the same way. Collective, all of it.
namespace skyline::train {

/// What a member wants to happen, or what happens, before the next step.
struct Wishes {
  bool stop = false;
  bool save = false;
};

/// Adds `values` up over the members, in place, in one message with the wishes.
/// @return  what any member wishes
Wishes agree(trial::TrialGroup& group, std::span<double> values, const Wishes& mine);

/// The leader's numbers on every member.
void broadcast_numbers(trial::TrialGroup& group, std::span<double> numbers);
/// The leader's state on every member.
void broadcast_state(trial::TrialGroup& group, trial::TrainingState& state);
/// The leader's values on every member; names and shapes are the same already.
void broadcast_tensors(trial::TrialGroup& group, std::vector<trial::NamedTensor>& tensors);

}  // namespace skyline::train
