#pragma once

#include "search/surrogate/points.hpp"

#include <iterator>
#include <vector>

#include <Eigen/Core>

namespace skyline::search {

/// The free numbers of a model: the kernel is
/// (1 - weight) exp(-D / (parameter_length parameter_scale)) + weight S, and in a space of several budgets
/// exp(-B / (budget_length budget_scale)) times that. The smooth part S is that of features,
/// exp(-d2 / (2 feature_length^2 feature_scale)), or, in a space with lengths, a Matern kernel of parameters:
/// (1 + s + s2 / 3) exp(-s).
struct Hyper {
  double weight = 0.7;  ///< share of the smooth part
  double parameter_length = 0.4;
  double feature_length = 1;
  double noise = 0.03;  ///< variance of the noise of targets, as a share of the kernel's variance
  double budget_length = 1;
  std::vector<double> lengths = {};  ///< one per parameter in a space with lengths, else none

  bool operator==(const Hyper&) const = default;
};

/// This is added to the noise, so that equal points make no singular matrix.
constexpr double kLeastNoise = 1e-6;

struct Distances {
  double parameters = 0;  ///< D: the sum over parameters, each in [0, 1]
  double features = 0;    ///< d2: the squared Euclidean distance
  double budgets = 0;     ///< B: the distance of their logarithms
};

/// The kernel of a space, between points that it encoded. A value is made by the same operations in the same
/// order whatever points are computed along with it, and by none of the C library's functions. Thread-safe.
class Kernel {
 public:
  explicit Kernel(const PointSpace& space);

  /// Returns the number of parameters and of features of a point.
  Eigen::Index parameters() const { return std::ssize(space_.ordinal); }
  Eigen::Index features() const { return space_.features; }
  bool has_lengths() const { return space_.has_lengths; }
  bool has_budgets() const { return space_.budget_scale > 0; }

  /// Returns the points in the form that the other functions read, one per column.
  Eigen::MatrixXd encode(const Points& points) const;

  /// Returns the distances between two encoded points. A parameter that only one of them uses counts 1.
  Distances distances(const double* left, const double* right) const;

  /// Returns the factors by which s2 weighs squared differences of parameters, in whole lanes.
  std::vector<double> rates(const std::vector<double>& lengths) const;
  /// Returns s2 = sum of 5 d2 / length^2 over parameters, whose squared differences d2 are at most 1.
  double scaled_distance(const double* left, const double* right, const double* rates) const;
  /// Adds weight x d2 of each parameter to `sums`, whole lanes.
  void add_squared_differences(const double* left, const double* right, double weight, double* sums) const;
  /// Returns s2 between all encoded points, [points, points].
  Eigen::ArrayXXd scaled_distances(const Eigen::MatrixXd& points, const std::vector<double>& lengths) const;

  /// Writes the kernel between an encoded point and the columns [from, to) of `points` to values[from, to).
  void values(const Hyper& hyper, const double* point, const Eigen::MatrixXd& points, Eigen::Index from,
              Eigen::Index to, double* values) const;

  /// Returns the values of the kernel's parts at these distances (any shape), without their weights.
  Eigen::ArrayXXd parameter_part(double length, const Eigen::ArrayXXd& distances) const;
  Eigen::ArrayXXd feature_part(double length, const Eigen::ArrayXXd& squared_distances) const;
  Eigen::ArrayXXd budget_part(double length, const Eigen::ArrayXXd& distances) const;

 private:
  PointSpace space_;
  Eigen::Index parameter_rows_;  // padded, so that sums go by fours
  Eigen::Index feature_end_;     // the row of budgets, if there is one
  Eigen::Index rows_;
};

/// The Matern kernel of smoothness 5/2 at squared distances s2, an array of any shape.
/// @see Rasmussen and Williams, Gaussian Processes for Machine Learning, 2006, equation 4.17
template <typename Array>
struct Matern {
  explicit Matern(const Array& squared) {
    const Array distances = squared.sqrt();
    const Array decay = (-distances).exp();
    values = (1 + distances + squared / 3) * decay;
    slopes = (1 + distances) * decay / 3;
  }

  Array values;
  Array slopes;  ///< derivatives of the values by s2, times -2
};

}  // namespace skyline::search
