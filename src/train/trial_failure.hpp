#pragma once

#include "skyline/objective/trial.hpp"

namespace skyline::train {

/// The exception being handled, as a failure of the trial with a reason of one line.
objective::Failure current_failure();

}  // namespace skyline::train
