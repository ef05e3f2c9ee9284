#pragma once

#include "skyline/space/network.hpp"

#include "train/course/training_evaluator.hpp"

#include <cstdint>

namespace skyline::train {

/// How much of the time of `members` together, in a training step of `batch` samples of the network, is spent
/// on what one alone would do too: 1 for one. A model of CPUs on a fast network, below the truth elsewhere.
double predicted_efficiency(const space::Network& network, std::int64_t batch, const GroupOptions& options,
                            std::uint32_t members);

/// How many members are to train the network: as many as the options say, else the largest power of two, not
/// above `options.most` and the batch, of at least 80 % predicted efficiency. A function of its arguments
/// alone: it defines the trial's result.
std::uint32_t choose_members(const space::Network& network, std::int64_t batch, const GroupOptions& options);

}  // namespace skyline::train
