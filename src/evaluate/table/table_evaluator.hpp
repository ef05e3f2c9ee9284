#pragma once

#include "skyline/evaluate/evaluator_kind.hpp"

namespace skyline::evaluate {

/// Returns the kind `table`: results from the table of a published benchmark, in which every architecture has
/// the same result at every time.
EvaluatorKind table_kind();

}  // namespace skyline::evaluate
