#pragma once

#include "run/run_state.hpp"

namespace skyline::run {

/// Returns the refit of a search trial that belongs to its trainings with the final budget, or nullptr.
SharedTrial refit_of(const RunState& state, trial::TrialNumber number);

}  // namespace skyline::run
