#pragma once

#include <vector>

#include <Eigen/Core>

namespace skyline::search {

/// Architectures as a model sees them. A column is a point.
struct Points {
  /// [parameters, points]: the place in [0, 1] of an ordinal parameter's value, the index of a categorical
  /// one's (0, 1,
  /// ...), and NaN where the network doesn't use the parameter.
  Eigen::MatrixXd parameters;
  /// [features, points], standardized.
  Eigen::MatrixXd features;
  /// [points]: the logarithm of the share of the whole budget, 0 or less; empty in a space of one budget.
  Eigen::RowVectorXd budgets = {};
  /// [points], how many results a target is the mean of; empty if each is of one.
  Eigen::VectorXd counts = {};
};

/// What distances between points mean in a space.
struct PointSpace {
  std::vector<bool> ordinal;   ///< one per parameter; the others are categorical
  Eigen::Index features = 0;   ///< number of features
  double parameter_scale = 1;  ///< median distance of parameters between points of the space
  double feature_scale = 1;    ///< median squared distance of features between points of the space
  /// How far apart the logarithms of the smallest and of the whole budget are; 0 in a space of one budget.
  double budget_scale = 0;
  /// Whether the smooth part of a kernel compares parameters, each by a length of its own, in place of
  /// features.
  bool has_lengths = false;
};

/// Returns the space whose scales are the medians over all pairs of a sample of distinct points. A median of
/// 0 counts as 1. Some 300 points are enough; the cost grows with their square.
PointSpace measured_space(std::vector<bool> ordinal, const Points& sample);

}  // namespace skyline::search
