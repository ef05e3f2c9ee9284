#pragma once

#include <vector>

#include <Eigen/Core>

namespace skyline::search {

/// What the values of an objective are worth, minimized: a rising function that is linear between its knots,
/// of which there are two or more. Its slope below the first knot is the mean slope of the first pieces, and
/// above the last knot that of the last piece. Without knots each value is worth itself.
struct PiecewiseLinear {
  std::vector<double> places;  // rising
  std::vector<double> values;  // not falling
};

/// The region below a reference that no point of a front dominates, as disjoint boxes, and the hypervolume
/// that a candidate is expected to add to the front. All objectives are minimized. Thread-safe.
/// @see Lacour, Klamroth and Fonseca, A box decomposition algorithm to compute the hypervolume indicator,
/// Computers and
///      Operations Research 79, 2017: the same cylinders, of which these boxes are the part below the front
class HypervolumeImprovement {
 public:
  /// @param front      [objectives, points] in any order; points that others dominate, and points that don't
  /// dominate
  ///                   the reference, change nothing
  /// @param reference  the worst value that counts of each objective, finite
  /// @param scales     of each objective, or none: volumes are those of what values are worth
  /// @throws InternalError if a value is NaN
  HypervolumeImprovement(const Eigen::MatrixXd& front, const Eigen::VectorXd& reference,
                         const std::vector<PiecewiseLinear>& scales = {});

  /// Returns the expected gain of each candidate, whose objectives are independent and normal. An objective
  /// with a deviation of 0 is exact. O(boxes x objectives + knots) for each.
  /// @param means       [objectives, candidates]
  /// @param deviations  [objectives, candidates]
  /// @param threads     how many compute; the result is the same
  Eigen::VectorXd operator()(const Eigen::MatrixXd& means, const Eigen::MatrixXd& deviations,
                             std::size_t threads = 1) const;

  /// Returns the number of boxes: one more than a front of two objectives has points, two for each point of
  /// three objectives, and on random fronts of 100 some 7 for each of four and 30 for each of five.
  Eigen::Index boxes() const { return lower_.cols(); }

 private:
  /// A bound of an objective with a scale, or a knot of the scale.
  struct Cut {
    double place = 0;
    double slope = 0;  // slope of the scale between the previous cut and this one
    bool is_bound = false;
  };

  double gain_of(const Eigen::VectorXd& mean, const Eigen::VectorXd& deviation) const;
  static std::vector<Cut> cuts_of(const std::vector<double>& bounds, const PiecewiseLinear& scale);
  std::vector<double> below(std::size_t objective, double mean, double deviation) const;

  // Bounds of the boxes, [objective][bound], rising; the first is -infinity.
  std::vector<std::vector<double>> bounds_;
  std::vector<std::vector<Cut>> cuts_;  // rising; none where values are worth themselves
  Eigen::ArrayXXi lower_;               // [objectives, boxes]: places in bounds_
  Eigen::ArrayXXi upper_;
};

}  // namespace skyline::search
