#pragma once

#include "skyline/evaluate/evaluator_kind.hpp"

namespace skyline::evaluate {

/// The evaluator of a search whose objectives are all computed: it trains and measures nothing. A
/// configuration that states no evaluator has it where objectives and constraints are costs of networks.
EvaluatorKind computed_kind();

}  // namespace skyline::evaluate
