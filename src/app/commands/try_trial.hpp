#pragma once

#include "app/config/run_config.hpp"

#include <cstddef>
#include <string>

namespace skyline::app {

/// Runs one trial so many times, each as the only trial of a run of its own, in this process, and prints what
/// happens: what the evaluator does, the values that it reports, the result, the line of a journal, times,
/// and whether the results were equal. The runs' folders are removed, except that of a failed trial.
/// @param genotype  as --genotype has it; empty for the first trial of the search
/// @return          kExitDone, or kExitNoFront if the trial failed
/// @throws UserError if the evaluator cannot be made
int try_trial(const RunConfig& config, const std::string& genotype, std::size_t times);

}  // namespace skyline::app
