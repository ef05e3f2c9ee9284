#include "search/surrogate/length_choice.hpp"

#include "skyline/core/error.hpp"

#include "core/system/parts.hpp"
#include "search/surrogate/cholesky_factor.hpp"
#include "search/surrogate/lane_sums.hpp"
#include "search/surrogate/lanes.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <deque>
#include <functional>
#include <numbers>
#include <optional>
#include <ranges>
#include <span>
#include <utility>

namespace skyline::search {

namespace {

constexpr double kLengthVariance = 3;  // variance of a length's logarithm beforehand
constexpr double kNoiseMean = -4;      // mean of the noise's logarithm beforehand
constexpr double kNoiseVariance = 1.5 * 1.5;
constexpr double kBudgetLength = 3;  // while lengths are chosen; budgets get theirs later
constexpr int kMostSteps = 40;

/// Columns of whole lanes.
std::vector<double*> columns_of(Eigen::MatrixXd& matrix) {
  std::vector<double*> columns;
  for (Eigen::Index column = 0; column < matrix.cols(); ++column)
    columns.push_back(matrix.col(column).data());
  return columns;
}

/// The inverse of a covariance, and what it makes of the targets.
struct Whitened {
  Eigen::MatrixXd inverse;       // [points, points], its upper triangle
  Eigen::VectorXd coefficients;  // inverse x targets
  double squares = 0;            // targets x inverse x targets
  double log_determinant = 0;    // half the logarithm of the determinant of the covariance
};

Whitened whitened(const Eigen::MatrixXd& covariance, const Eigen::VectorXd& targets) {
  const Eigen::Index count = targets.size();
  const Eigen::Index rows = whole_lanes(count);
  Eigen::MatrixXd lanes = Eigen::MatrixXd::Zero(rows, count);
  lanes.topRows(count) = covariance;
  CholeskyFactor factor;
  factor.append(columns_of(lanes));
  Eigen::MatrixXd solved = Eigen::MatrixXd::Zero(rows, count + 1);  // the root's inverse, and the targets
  solved.topLeftCorner(count, count).setIdentity();
  solved.col(count).head(count) = targets;
  factor.solve(columns_of(solved), 0);
  Whitened result{Eigen::MatrixXd(count, count), Eigen::VectorXd(count)};
  const double* const of_targets = solved.col(count).data();
  result.squares = dot(of_targets, of_targets, count);
  std::vector<const double*> columns;
  for (Eigen::Index right = 0; right < count; ++right) {
    const Eigen::Index zeros = right / kLane * kLane;  // rows in which a triangular matrix has zeros
    const double* const column = solved.col(right).data() + zeros;
    result.coefficients[right] = dot(column, of_targets + zeros, count - zeros);
    result.log_determinant -= log_of(solved(right, right));
    columns.clear();
    for (Eigen::Index left = 0; left <= right; ++left) columns.push_back(solved.col(left).data() + zeros);
    dots(column, columns, static_cast<std::size_t>(count - zeros), result.inverse.col(right).data());
  }
  return result;
}

constexpr std::size_t kRemembered = 8;   // steps that tell the curvature
constexpr double kFirstStep = 1;         // largest change of a coordinate
constexpr double kLongestStep = 2;       // the same of later steps
constexpr double kLeastDecrease = 1e-4;  // share of the decrease that the gradient promises
constexpr int kMostHalvings = 12;
constexpr double kFlat = 1e-4;  // gradients below are those of a minimum
constexpr double kLeastCurvature = 1e-10;

struct Step {
  Eigen::VectorXd moved;
  Eigen::VectorXd turned;  // change of the gradient
  double curvature = 0;    // inner product of the two
};

/// Returns the direction in which the remembered steps expect the minimum, and at first that of steepest
/// descent.
Eigen::VectorXd direction_of(const std::deque<Step>& steps, Eigen::VectorXd gradient) {
  std::vector<double> shares;
  for (const Step& step : std::views::reverse(steps)) {
    shares.push_back(step.moved.dot(gradient) / step.curvature);
    gradient -= shares.back() * step.turned;
  }
  if (!steps.empty()) gradient *= steps.back().curvature / steps.back().turned.squaredNorm();
  for (const Step& step : steps) {
    gradient += (shares.back() - step.turned.dot(gradient) / step.curvature) * step.moved;
    shares.pop_back();
  }
  return -gradient;
}

/// Returns the first place in a direction, of those a half, a quarter and so on of the way, where the
/// function has fallen by enough, and its gradient; nullopt if there is none.
std::optional<Minimum> descend(const Differentiable& function, const Minimum& from, Eigen::VectorXd direction,
                               double slope, Eigen::VectorXd& gradient) {
  for (int halvings = 0; halvings < kMostHalvings; ++halvings, direction *= 0.5, slope *= 0.5) {
    Minimum next{from.place + direction};
    next.value = function(next.place, gradient);
    if (next.value < from.value + kLeastDecrease * slope) return next;
  }
  return std::nullopt;
}

}  // namespace

LengthPosterior::LengthPosterior(const Kernel& kernel, const Eigen::MatrixXd& points,
                                 const Eigen::VectorXd& targets, const Eigen::VectorXd& counts)
    : kernel_(kernel),
      points_(points),
      targets_(targets),
      counts_(counts),
      budgets_(Eigen::ArrayXXd::Ones(points.cols(), points.cols())),
      mean_(std::numbers::sqrt2 + 0.5 * log_of(static_cast<double>(kernel.parameters()))) {
  require(points.cols() > 0 && points.cols() == targets.size(),
          "lengths are chosen by one target for each point");
  if (!kernel.has_budgets()) return;
  for (Eigen::Index right = 0; right < points.cols(); ++right) {
    for (Eigen::Index left = 0; left < points.cols(); ++left)
      budgets_(left, right) = kernel.distances(points.col(left).data(), points.col(right).data()).budgets;
  }
  budgets_ = kernel.budget_part(kBudgetLength, budgets_);
}

double LengthPosterior::operator()(const Eigen::VectorXd& logarithms, Eigen::VectorXd& gradient) const {
  const Eigen::Index parameters = kernel_.parameters();
  const auto count = static_cast<double>(targets_.size());
  std::vector<double> lengths;
  for (Eigen::Index i = 0; i < parameters; ++i) lengths.push_back(exp_of(logarithms[i]));
  const Matern<Eigen::ArrayXXd> kernel(kernel_.scaled_distances(points_, lengths));
  const Eigen::ArrayXd noise = exp_of(logarithms[parameters]) / counts_.array();
  Eigen::MatrixXd covariance = kernel.values * budgets_;
  covariance.diagonal().array() += noise + kLeastNoise;
  const Whitened white = whitened(covariance, targets_);

  const std::vector<double> rates = kernel_.rates(lengths);
  const double share = count / (white.squares + 1);
  std::vector<double> sums(rates.size());  // one per parameter, in whole lanes
  double of_noise = 0;
  for (Eigen::Index right = 0; right < targets_.size(); ++right) {
    const double* const point = points_.col(right).data();
    const double coefficient = share * white.coefficients[right];
    for (Eigen::Index left = 0; left < right; ++left) {
      const double weight = (coefficient * white.coefficients[left] - white.inverse(left, right)) *
                            kernel.slopes(left, right) * budgets_(left, right);
      kernel_.add_squared_differences(points_.col(left).data(), point, weight, sums.data());
    }
    of_noise += (coefficient * white.coefficients[right] - white.inverse(right, right)) * noise[right];
  }
  for (Eigen::Index i = 0; i < parameters; ++i) {
    const auto place = static_cast<std::size_t>(i);
    gradient[i] = -rates[place] * sums[place];
  }
  gradient[parameters] = -0.5 * of_noise;
  return 0.5 * count * log_of((white.squares + 1) / (count + 1)) + white.log_determinant +
         add_prior(logarithms, gradient);
}

/// Returns what the prior adds, and adds it to the gradient.
double LengthPosterior::add_prior(const Eigen::VectorXd& logarithms, Eigen::VectorXd& gradient) const {
  const Eigen::Index parameters = kernel_.parameters();
  double sum = 0;
  for (Eigen::Index i = 0; i <= parameters; ++i) {
    const double from_mean = logarithms[i] - (i < parameters ? mean_ : kNoiseMean);
    const double variance = i < parameters ? kLengthVariance : kNoiseVariance;
    sum += 0.5 * from_mean * from_mean / variance;
    gradient[i] += from_mean / variance;
  }
  return sum;
}

std::vector<double> LengthPosterior::best_lengths(std::size_t threads) const {
  const Eigen::Index parameters = kernel_.parameters();
  const std::array starts{mean_, 0.5 * log_of(static_cast<double>(parameters)) - std::numbers::ln2};
  std::array<Minimum, starts.size()> found;
  in_parts(starts.size(), 1, threads, [&](std::size_t place, std::size_t) {
    Eigen::VectorXd logarithms = Eigen::VectorXd::Constant(parameters + 1, starts[place]);
    logarithms[parameters] = kNoiseMean;
    found[place] = minimize(std::cref(*this), std::move(logarithms), kMostSteps);
  });
  const Minimum& best = found[1].value < found[0].value ? found[1] : found[0];
  std::vector<double> lengths;
  for (Eigen::Index i = 0; i < parameters; ++i) lengths.push_back(exp_of(best.place[i]));
  return lengths;
}

Minimum minimize(const Differentiable& function, Eigen::VectorXd start, int most_steps) {
  Minimum best{std::move(start)};
  Eigen::VectorXd gradient(best.place.size());
  Eigen::VectorXd next_gradient(best.place.size());
  best.value = function(best.place, gradient);
  std::deque<Step> steps;
  for (int number = 0; number < most_steps && gradient.lpNorm<Eigen::Infinity>() > kFlat; ++number) {
    Eigen::VectorXd direction = direction_of(steps, gradient);
    direction *=
        std::min(1.0, (steps.empty() ? kFirstStep : kLongestStep) / direction.lpNorm<Eigen::Infinity>());
    std::optional<Minimum> next = descend(function, best, direction, direction.dot(gradient), next_gradient);
    if (!next) break;
    Step step{next->place - best.place, next_gradient - gradient};
    step.curvature = step.moved.dot(step.turned);
    if (step.curvature > kLeastCurvature * step.turned.squaredNorm()) steps.push_back(std::move(step));
    if (steps.size() > kRemembered) steps.pop_front();
    best = std::move(*next);
    gradient.swap(next_gradient);
  }
  return best;
}

}  // namespace skyline::search
