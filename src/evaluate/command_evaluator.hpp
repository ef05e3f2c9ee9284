#pragma once

#include "skyline/evaluate/evaluator_kind.hpp"

namespace skyline::evaluate {

/// Returns the kind `command`: a user's own trainer, which is started as a process for each trial.
EvaluatorKind command_kind();

}  // namespace skyline::evaluate
