#pragma once

#include "skyline/evaluate/evaluator_kind.hpp"

#include <string_view>

namespace skyline::train {

/// The metric that says after how many epochs a full training kept its weights. Only trainings whose epochs
/// are judged have it; others keep the last one's.
inline constexpr std::string_view kKeptEpochs = "kept_epochs";

/// Returns the kind `training`, whose evaluators train on the device of each rank. Its evaluators for a job
/// are those of the training module; others only predict costs.
evaluate::EvaluatorKind training_kind();
/// Adds training to the evaluators, once. It is a call because a linker drops objects that nobody refers to.
void register_training();

}  // namespace skyline::train
