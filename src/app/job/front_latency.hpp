#pragma once

#include "skyline/trial/evaluator.hpp"

#include "run/run_state.hpp"
#include "store/run_folder/run_folder.hpp"

#include <functional>

namespace skyline::app {

/// Measures the latency of the front that counts when the run is done, in rounds over its members, and writes
/// RUN/latency.json. Does nothing if the run measures no latency, or the file has the front already. A
/// failure is logged as a warning. @pre no trial runs on this rank
/// @param ends  whether to begin no further round
void measure_front(trial::Evaluator& evaluator, const run::RunState& state, const store::RunPaths& paths,
                   const std::function<bool()>& ends);

}  // namespace skyline::app
