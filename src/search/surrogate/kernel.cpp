#include "search/surrogate/kernel.hpp"

#include "skyline/core/error.hpp"

#include "search/surrogate/lanes.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace skyline::search {

namespace {

double median_or_one(std::vector<double> values) {
  if (values.empty()) return 1;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle > 0 ? *middle : 1;
}

double parameter_rate(const PointSpace& space, double length) {
  return -1 / (length * space.parameter_scale);
}

double feature_rate(const PointSpace& space, double length) {
  return -1 / (2 * length * length * space.feature_scale);
}

double budget_rate(const PointSpace& space, double length) {
  return -1 / (length * space.budget_scale);
}

/// Returns the squared differences d2 of some parameters: 1 between words. A number in [0, 1] that only one
/// point uses is as far from the other one as the place 1/2 is, and 3/4 besides; those are squares of
/// distances in a plane, where 1 for all would be of none, and give a kernel that isn't positive definite.
Lane squared_differences(const double* left, const double* right) {
  const Lane differences = (ConstLane(left) - ConstLane(right)).abs().min(2.0);
  return differences.square() - 3 * (differences - 1).max(0.0);
}

}  // namespace

Kernel::Kernel(const PointSpace& space)
    : space_(space),
      parameter_rows_(whole_lanes(parameters())),
      feature_end_(parameter_rows_ + whole_lanes(features())),
      rows_(feature_end_ + (has_budgets() ? kLane : 0)) {}

/// A parameter that isn't used gets a value at a distance of at least 1 from all others, so that one formula,
/// the smaller of 1 and the difference, is right for all kinds.
Eigen::MatrixXd Kernel::encode(const Points& points) const {
  const Eigen::Index count = points.parameters.cols();
  require(points.parameters.rows() == parameters() && points.features.rows() == features() &&
              points.features.cols() == count && (!has_budgets() || points.budgets.size() == count),
          "points have other parameters or features than their space");
  Eigen::MatrixXd encoded = Eigen::MatrixXd::Zero(rows_, count);
  for (Eigen::Index row = 0; row < parameters(); ++row) {
    const double unused = space_.ordinal[static_cast<std::size_t>(row)] ? 2 : -1;
    for (Eigen::Index point = 0; point < count; ++point) {
      const double place = points.parameters(row, point);
      encoded(row, point) = std::isnan(place) ? unused : place;
    }
  }
  encoded.middleRows(parameter_rows_, features()) = points.features;
  if (has_budgets()) encoded.row(feature_end_) = points.budgets;
  require(encoded.allFinite(), "a feature of a point is not finite");
  return encoded;
}

Distances Kernel::distances(const double* left, const double* right) const {
  Lane parameters = Lane::Zero();
  Lane features = Lane::Zero();
  for (Eigen::Index row = 0; row < parameter_rows_; row += kLane) {
    parameters += (ConstLane(left + row) - ConstLane(right + row)).abs().min(1.0);
  }
  for (Eigen::Index row = parameter_rows_; row < feature_end_; row += kLane) {
    features += (ConstLane(left + row) - ConstLane(right + row)).square();
  }
  const double budgets = has_budgets() ? std::abs(left[feature_end_] - right[feature_end_]) : 0;
  return {parameters.sum(), features.sum(), budgets};
}

std::vector<double> Kernel::rates(const std::vector<double>& lengths) const {
  require(!has_lengths() || std::ssize(lengths) == parameters(),
          "a kernel needs a length for each parameter");
  std::vector<double> rates;
  for (const double length : lengths) rates.push_back(5 / (length * length));
  rates.resize(static_cast<std::size_t>(parameter_rows_), 0.0);
  return rates;
}

double Kernel::scaled_distance(const double* left, const double* right, const double* rates) const {
  Lane sum = Lane::Zero();
  for (Eigen::Index row = 0; row < parameter_rows_; row += kLane)
    sum += ConstLane(rates + row) * squared_differences(left + row, right + row);
  return sum.sum();
}

void Kernel::add_squared_differences(const double* left, const double* right, double weight,
                                     double* sums) const {
  for (Eigen::Index row = 0; row < parameter_rows_; row += kLane)
    Eigen::Map<Lane>(sums + row) += weight * squared_differences(left + row, right + row);
}

Eigen::ArrayXXd Kernel::scaled_distances(const Eigen::MatrixXd& points,
                                         const std::vector<double>& lengths) const {
  const std::vector<double> rates = this->rates(lengths);
  Eigen::ArrayXXd distances(points.cols(), points.cols());
  for (Eigen::Index right = 0; right < points.cols(); ++right) {
    for (Eigen::Index left = 0; left <= right; ++left) {
      distances(left, right) = distances(right, left) =
          scaled_distance(points.col(left).data(), points.col(right).data(), rates.data());
    }
  }
  return distances;
}

void Kernel::values(const Hyper& hyper, const double* point, const Eigen::MatrixXd& points, Eigen::Index from,
                    Eigen::Index to, double* values) const {
  const double parameter_rate = search::parameter_rate(space_, hyper.parameter_length);
  const double feature_rate = search::feature_rate(space_, hyper.feature_length);
  const std::vector<double> rates = this->rates(hyper.lengths);
  Lane parameters = Lane::Zero();
  Lane features = Lane::Zero();
  Lane budgets = Lane::Zero();
  for (Eigen::Index first = from; first < to; first += kLane) {
    const Eigen::Index count = std::min(kLane, to - first);
    for (Eigen::Index place = 0; place < count; ++place) {
      const double* const other = points.col(first + place).data();
      const Distances distance = distances(point, other);
      parameters[place] = distance.parameters;
      features[place] = has_lengths() ? scaled_distance(point, other, rates.data()) : distance.features;
      budgets[place] = distance.budgets;
    }
    // Whole lanes: Eigen's own exponential then serves all values, never the C library's, whose last bits
    // differ.
    const Lane smooth = has_lengths() ? Matern<Lane>(features).values : Lane((features * feature_rate).exp());
    Lane lane = (1 - hyper.weight) * (parameters * parameter_rate).exp() + hyper.weight * smooth;
    if (has_budgets()) lane *= (budgets * budget_rate(space_, hyper.budget_length)).exp();
    std::copy_n(lane.data(), count, values + first);
  }
}

Eigen::ArrayXXd Kernel::parameter_part(double length, const Eigen::ArrayXXd& distances) const {
  return (distances * parameter_rate(space_, length)).exp();
}

Eigen::ArrayXXd Kernel::feature_part(double length, const Eigen::ArrayXXd& squared_distances) const {
  return (squared_distances * feature_rate(space_, length)).exp();
}

Eigen::ArrayXXd Kernel::budget_part(double length, const Eigen::ArrayXXd& distances) const {
  return (distances * budget_rate(space_, length)).exp();
}

PointSpace measured_space(std::vector<bool> ordinal, const Points& sample) {
  PointSpace space{std::move(ordinal), sample.features.rows()};
  const Kernel kernel(space);
  const Eigen::MatrixXd points = kernel.encode(sample);
  std::vector<double> parameters;
  std::vector<double> features;
  for (Eigen::Index right = 1; right < points.cols(); ++right) {
    for (Eigen::Index left = 0; left < right; ++left) {
      const Distances distances = kernel.distances(points.col(left).data(), points.col(right).data());
      parameters.push_back(distances.parameters);
      features.push_back(distances.features);
    }
  }
  space.parameter_scale = median_or_one(std::move(parameters));
  space.feature_scale = median_or_one(std::move(features));
  return space;
}

}  // namespace skyline::search
