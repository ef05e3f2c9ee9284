#pragma once

#include "search/surrogate/cholesky_factor.hpp"
#include "search/surrogate/kernel.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace skyline::search {

struct Prediction {
  Eigen::VectorXd mean;
  Eigen::VectorXd deviation;  ///< standard deviation of the value without noise
};

/// A Gaussian process of mean zero. Points are added in the order in which their trials are asked for. The
/// targets of the first ones are known; the other points are in flight, and have fantasies as targets: their
/// predicted means, which lower deviations and leave means as they are. What it predicts doesn't depend on
/// how its points came in, one by one or many at once, to the last bit. Not thread-safe while it changes.
/// @see Rasmussen and Williams, Gaussian Processes for Machine Learning, 2006, algorithm 2.1
class GaussianProcess {
 public:
  explicit GaussianProcess(const PointSpace& space);

  /// Has so many threads compute, from now on; results are the same.
  void use_threads(std::size_t threads) { threads_ = threads; }
  Eigen::Index size() const { return points_.cols(); }
  void add(const Points& points);
  /// Drops all points from `size` on. fit() must follow.
  void truncate(Eigen::Index size);

  /// Returns by how many of the first `known` targets the hyper-parameters are chosen: all up to 60, then as
  /// many as the last time that the number had grown by a tenth. A function of `known` alone, so that a
  /// search that is resumed chooses as one that never stopped.
  static Eigen::Index choice_size(Eigen::Index known);
  /// Chooses the hyper-parameters by the targets of the first points, see best_hyper(). fit() must follow.
  void choose_hyper(const Eigen::VectorXd& targets);
  /// Takes these hyper-parameters. The factor is made again if they differ. fit() must follow.
  void set_hyper(const Hyper& hyper);
  const Hyper& hyper() const { return hyper_; }

  /// Conditions the process on the targets of its first points; the others are in flight. The factor is
  /// extended by the points that were added since. O(n^2) for each of them, and O(n^2) for the targets.
  void fit(const Eigen::VectorXd& targets);
  /// Extends the factor by the points that were added since, as fit() with the same targets would.
  void extend();

  /// Returns what is expected of these points. O(n^2) for each; see Forecast for points that are asked about
  /// again. Thread-safe.
  Prediction predict(const Points& candidates) const;
  /// Returns the expected values at the process's own points, without noise.
  Eigen::VectorXd means() const;
  /// Returns the expected value at one of its points, which is in flight.
  double mean_of(Eigen::Index point) const;
  /// Returns the kernel's variance, which follows from the targets.
  double variance() const { return variance_; }
  /// Returns the logarithm of the density of the known targets.
  double log_likelihood() const;

 private:
  friend class Forecast;

  void extend_factor();
  /// Returns how many threads share so many products of the columns that a factor solves.
  std::size_t threads_for(double products) const;
  /// Computes the rows [from, size()) of the solved kernel of encoded points, in place; `solved` has one
  /// column of whole lanes for each.
  void solve_for(std::span<const double* const> points, std::span<double* const> solved,
                 Eigen::Index from) const;
  /// Returns what is expected of points, from the solved kernel of each.
  Prediction predict_from(std::span<const double* const> solved) const;

  Kernel kernel_;
  std::size_t threads_ = 1;
  Hyper hyper_;
  Eigen::MatrixXd points_;             // encoded by kernel_
  Eigen::VectorXd counts_;             // results whose mean a target is, one per point; its noise is divided
  CholeskyFactor factor_;              // the kernel's, of the first points
  std::vector<std::uint64_t> stamps_;  // one per row of the factor, rising, never given twice
  std::uint64_t next_stamp_ = 1;
  Eigen::VectorXd targets_;       // targets of the first points
  std::vector<double> whitened_;  // the factor's solution for the targets, in whole lanes
  double variance_ = 1;
};

}  // namespace skyline::search
