#pragma once

#include "skyline/objective/trial.hpp"

#include <functional>
#include <memory>
#include <span>

namespace skyline::engine {

/// Whose weights a proposal starts from: of its parents whose weights are there, the one that fills the
/// greater share of its parameters, the first of equals. nullptr for a proposal that has no such parent, or
/// nothing in common with them. A function of its arguments.
/// @param committed    all trials so far, by number
/// @param has_weights  whether a committed trial's weights are there and will stay
std::shared_ptr<const objective::Inheritance> choose_inheritance(
    const objective::Proposal& proposal, std::span<const objective::CommittedTrial> committed,
    const std::function<bool(objective::TrialNumber)>& has_weights);

}  // namespace skyline::engine
