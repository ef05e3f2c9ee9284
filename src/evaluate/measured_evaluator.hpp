#pragma once

#include "skyline/evaluate/evaluator_kind.hpp"
#include "skyline/trial/evaluator.hpp"

#include "evaluate/command/command_metric.hpp"

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace skyline::evaluate {

/// Returns an evaluator that measures the trained networks of another one by programs of the user. Its values
/// are those of the other one, then those of the metrics that have a program. Collective over the ranks, if
/// there are any.
/// @param trains   leaves the weights of its networks (TrialWeights)
/// @param own_metrics  number of its metrics
/// @param metrics  if none of them has a program, `trains` is returned
/// @param threads  OMP_NUM_THREADS of the programs
/// @param section  path of the section of the configuration, for messages
/// @throws UserError if this job cannot measure
std::unique_ptr<trial::Evaluator> with_measured_metrics(std::unique_ptr<trial::Evaluator> trains,
                                                        std::size_t own_metrics,
                                                        const std::vector<CommandMetric>& metrics,
                                                        int threads, const EvaluatorServices& services,
                                                        const std::string& section);

}  // namespace skyline::evaluate
