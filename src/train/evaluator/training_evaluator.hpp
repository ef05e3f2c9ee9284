#pragma once

#include "skyline/evaluate/evaluator_kind.hpp"
#include "skyline/store/dataset.hpp"
#include "skyline/trial/evaluator.hpp"

#include "train/device/accelerator.hpp"
#include "train/options/training_options.hpp"

#include <memory>
#include <string_view>

namespace skyline::train {

class NodeMemoryLimiter;

/// Makes an evaluator that trains networks with LibTorch. Results depend on trial, data and options alone.
/// The test set is used only for trials of Phase::kFinal.
/// @param measure_latency  whether latency_ms is needed; it is NaN otherwise
/// @param memory           limits trials on processors; nullptr for no limit
std::unique_ptr<trial::Evaluator> make_training_evaluator(
    const TrainingOptions& options, Normalization normalization,
    std::shared_ptr<const store::Dataset> dataset, store::SplitIndices split, bool measure_latency,
    DeviceUse device = {}, std::shared_ptr<const NodeMemoryLimiter> memory = nullptr);

/// The metric that says after how many epochs a full training kept its weights. Only trainings whose epochs
/// are judged have it; others keep the last one's.
inline constexpr std::string_view kKeptEpochs = "kept_epochs";

/// Returns the kind `training`, which chooses the device of each rank.
evaluate::EvaluatorKind training_kind();
/// Adds training to the evaluators, once. It is a call because a linker drops objects that nobody refers to.
void register_training();

}  // namespace skyline::train
