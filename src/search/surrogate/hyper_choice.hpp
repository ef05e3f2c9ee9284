#pragma once

#include "search/surrogate/kernel.hpp"

#include <cstddef>

namespace skyline::search {

/// Returns the hyper-parameters of a grid under which the targets of these points, at least one, are the most
/// likely. The kernel's variance is the most likely one for each, with a weak prior at 1. Without parameters
/// or without features the weight is that of the other part. O(n^3) for each of 81 grid points, and up to 27
/// more where results may be noise above all. In a space with lengths, these are the most likely ones of the
/// smooth part alone (LengthPosterior): 60 grid points.
/// @param points   encoded by the kernel, as many as targets
/// @param counts   number of results whose mean each target is
/// @param threads  how many compute; the result is the same
Hyper best_hyper(const Kernel& kernel, const Eigen::MatrixXd& points, const Eigen::VectorXd& targets,
                 const Eigen::VectorXd& counts, std::size_t threads = 1);

}  // namespace skyline::search
