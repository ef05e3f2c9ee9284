#pragma once

#include "skyline/trial/trial.hpp"

#include <functional>
#include <memory>
#include <span>

namespace skyline::engine {

/// Whose weights a proposal starts from: of its parents whose weights are there, the one that fills the
/// greater share of its parameters, the first of equals. nullptr for a proposal that has no such parent, or
/// nothing in common with them. A function of its arguments.
/// @param committed    all trials so far, by number
/// @param has_weights  whether a committed trial's weights are there and will stay
std::shared_ptr<const trial::Inheritance> choose_inheritance(
    const trial::Proposal& proposal, std::span<const trial::CommittedTrial> committed,
    const std::function<bool(trial::TrialNumber)>& has_weights);

}  // namespace skyline::engine
