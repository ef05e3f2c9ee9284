#pragma once

#include "skyline/trial/evaluator.hpp"

#include <string>

namespace skyline::trial {

/// Returns a point of a learning curve for people, in one line: "step 3: accuracy=71.5".
std::string to_text(const CurvePoint& point);

}  // namespace skyline::trial
