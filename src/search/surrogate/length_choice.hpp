#pragma once

#include "search/surrogate/kernel.hpp"

#include <cstddef>
#include <functional>
#include <vector>

#include <Eigen/Core>

namespace skyline::search {

/// What targets say of the lengths of a kernel's smooth part alone, and of the noise. The logarithms of the
/// lengths are normal beforehand, around a mean that grows with the number of parameters, and so is that of
/// the noise. The kernel's variance is the most likely one, with a weak prior at 1. Every number is made by
/// the same operations in the same order, on every processor.
/// @see Hvarfner, Hellsten and Nardi, Vanilla Bayesian optimization performs great in high dimensions, ICML
/// 2024
class LengthPosterior {
 public:
  /// @param points  encoded by the kernel, which has lengths, as many as targets, at least one
  /// @param counts  number of results whose mean each target is
  LengthPosterior(const Kernel& kernel, const Eigen::MatrixXd& points, const Eigen::VectorXd& targets,
                  const Eigen::VectorXd& counts);

  /// Returns the negative logarithm of the density, up to a constant. O(n^3 + n^2 parameters).
  /// @param logarithms  of the lengths and of the noise, [parameters + 1]
  /// @param gradient    is written, [parameters + 1]
  double operator()(const Eigen::VectorXd& logarithms, Eigen::VectorXd& gradient) const;

  /// Returns the most likely lengths, one per parameter, of two searches: from the prior's middle, and from
  /// sqrt(parameters) / 2. Each has a thread of its own, if there are two.
  std::vector<double> best_lengths(std::size_t threads = 1) const;

 private:
  double add_prior(const Eigen::VectorXd& logarithms, Eigen::VectorXd& gradient) const;

  const Kernel& kernel_;
  const Eigen::MatrixXd& points_;
  const Eigen::VectorXd& targets_;
  const Eigen::VectorXd& counts_;
  Eigen::ArrayXXd budgets_;  // the kernel's part of budgets, [points, points]
  double mean_;              // mean of the lengths' logarithms beforehand
};

/// A function to minimize: returns its value at a place and writes its gradient, of the same size.
using Differentiable = std::function<double(const Eigen::VectorXd& place, Eigen::VectorXd& gradient)>;

struct Minimum {
  Eigen::VectorXd place;
  double value = 0;
};

/// Returns a place to which L-BFGS comes from `start` in so many steps at most. No coordinate moves by more
/// than 2 in a step, and each step lowers the value. Deterministic.
/// @param function  finite everywhere
/// @see Nocedal and Wright, Numerical Optimization, 2006, algorithms 7.4 and 3.1
Minimum minimize(const Differentiable& function, Eigen::VectorXd start, int most_steps);

}  // namespace skyline::search
