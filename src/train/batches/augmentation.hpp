#pragma once

#include "skyline/store/dataset.hpp"

#include "train/kernels/augment.hpp"
#include "train/options/training_options.hpp"

#include <cstdint>
#include <vector>

namespace skyline::train {

/// Returns the options as whole numbers, from which kernels draw, for images of this data set.
kernels::AugmentPlan augment_plan(const AugmentOptions& options, const store::Dataset& dataset);

/// Returns the seed of the image at place 0 of an epoch's order; later places follow from it. The changes of
/// an image depend on its seed alone.
std::uint64_t first_image_seed(std::uint64_t trial_seed, std::uint64_t epoch);

/// Returns tables for kernels::MixPlan, of a symmetric beta distribution with this parameter. @pre 0 < alpha
std::vector<float> mixup_table(double alpha);
std::vector<float> cutmix_table(double alpha);

}  // namespace skyline::train
