#pragma once

#include <functional>

#include <Eigen/Core>

namespace skyline::search {

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
