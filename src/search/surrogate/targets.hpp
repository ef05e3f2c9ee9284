#pragma once

#include <Eigen/Core>

namespace skyline::search {

/// Returns what a model is fitted to for these values, of which the greatest is the best: half the normal
/// quantile of a value's rank, half its distance from the mean in deviations, at most 2 either way; the mean
/// of all is 0. Equal values have equal targets, and a greater value has a greater one.
Eigen::VectorXd surrogate_targets(const Eigen::VectorXd& values);

}  // namespace skyline::search
