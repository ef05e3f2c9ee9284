#pragma once

#include "skyline/store/dataset.hpp"
#include "skyline/trial/evaluator.hpp"

#include "store/data/teacher.hpp"
#include "train/device/accelerator.hpp"
#include "train/options/training_options.hpp"

#include <cstdint>
#include <memory>
#include <vector>

namespace skyline::train {

class NodeMemoryLimiter;

/// Makes an evaluator that trains networks with LibTorch. Results depend on trial, data and options alone.
/// The test set is used only for trials of Phase::kFinal.
/// @param measure_latency  whether latency_ms is needed; it is NaN otherwise
/// @param memory           limits trials on processors; nullptr for no limit
/// @param calibration      training samples by which int8 networks are made, if the options ask for some
/// @param teacher          the open file that the options name, of these data; nullptr if they name none
std::unique_ptr<trial::Evaluator> make_training_evaluator(
    const TrainingOptions& options, Normalization normalization,
    std::shared_ptr<const store::Dataset> dataset, store::SplitIndices split, bool measure_latency,
    DeviceUse device = {}, std::shared_ptr<const NodeMemoryLimiter> memory = nullptr,
    std::vector<std::int64_t> calibration = {}, std::shared_ptr<const store::Teacher> teacher = nullptr);

}  // namespace skyline::train
