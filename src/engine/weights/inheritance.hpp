#pragma once

#include "skyline/trial/trial.hpp"

#include <functional>

namespace skyline::engine {

/// How a proposal starts: from the weights of that one of its parents that fills the greater share of its
/// parameters, the first of equals; fresh if it has nothing in common with any. A function of its arguments.
/// @param heritable  a committed search trial whose weights are there and will stay; else nullptr
trial::Start choose_start(const trial::Proposal& proposal,
                          const std::function<const trial::CommittedTrial*(trial::TrialNumber)>& heritable);

}  // namespace skyline::engine
