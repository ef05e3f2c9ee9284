#pragma once

#include "skyline/trial/trial.hpp"

namespace skyline::train {

/// Turns the exception that is being handled into a failure of the trial with a reason of one line.
trial::Failure current_failure();

}  // namespace skyline::train
