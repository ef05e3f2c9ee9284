#pragma once

#include "space/expressions/expression.hpp"

namespace skyline::space {

/// Applies an operation on numbers to two values: from kAdd to kMax, and from kLess to kAtLeast.
/// @throws UserError at `source`, e.g. for a word or an overflow
Value calculate(const Value& left, const Value& right, Operation operation, const ConfigNode& source);

}  // namespace skyline::space
