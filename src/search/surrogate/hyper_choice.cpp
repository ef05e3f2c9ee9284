#include "search/surrogate/hyper_choice.hpp"

#include "skyline/core/error.hpp"

#include "search/surrogate/length_choice.hpp"
#include "search/surrogate/matern.hpp"

#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include <Eigen/Cholesky>

namespace skyline::search {

namespace {

constexpr std::array kWeights = {0.9, 0.7, 0.5};
constexpr std::array kSmoothWeights = {0.0, 0.3, 0.6, 0.9};  // in a space with lengths
constexpr std::array kParameterLengths = {0.2, 0.4, 0.8};
constexpr std::array kFeatureLengths = {0.5, 1.0, 2.0};
constexpr std::array kNoises = {0.003, 0.03, 0.2};
constexpr std::array kSmoothNoises = {0.0003, 0.003, 0.03, 0.2, 1.0};  // in a space with lengths
constexpr std::array kBudgetLengths = {0.7, 3.0, 20.0};  // 0.24, 0.72 and 0.95 from one end to the other

/// Returns the logarithm of the likelihood, up to a constant, with the kernel's variance at its most likely
/// value.
/// @param covariance  of the targets, for a variance of 1; overwritten by its factor
double profile_likelihood(Eigen::MatrixXd& covariance, Eigen::VectorXd targets) {
  const Eigen::LLT<Eigen::Ref<Eigen::MatrixXd>> factor(covariance);
  factor.matrixL().solveInPlace(targets);
  const auto count = static_cast<double>(targets.size());
  const double variance = (targets.squaredNorm() + 1) / (count + 1);
  return -0.5 * count * std::log(variance) - covariance.diagonal().array().log().sum();
}

/// A part of the kernel at one of its lengths.
struct KernelPart {
  double length;
  Eigen::ArrayXXd values;
};

}  // namespace

Hyper best_hyper(const Kernel& kernel, const Eigen::MatrixXd& points, const Eigen::VectorXd& targets,
                 const Eigen::VectorXd& counts) {
  const Eigen::Index count = points.cols();
  require(count > 0 && count == targets.size(), "hyper-parameters are chosen by one target for each point");
  Eigen::ArrayXXd parameters(count, count);
  Eigen::ArrayXXd features(count, count);
  Eigen::ArrayXXd budgets(count, count);
  for (Eigen::Index right = 0; right < count; ++right) {
    for (Eigen::Index left = 0; left <= right; ++left) {
      const Distances distances = kernel.distances(points.col(left).data(), points.col(right).data());
      parameters(left, right) = parameters(right, left) = distances.parameters;
      features(left, right) = features(right, left) = distances.features;
      budgets(left, right) = budgets(right, left) = distances.budgets;
    }
  }
  std::vector<KernelPart> parameter_parts;
  for (const double length : kParameterLengths) {
    parameter_parts.push_back({length, kernel.parameter_part(length, parameters)});
    if (kernel.parameters() == 0) break;
  }
  std::vector<double> lengths;
  std::vector<KernelPart> feature_parts;
  if (kernel.has_lengths()) {
    lengths = LengthPosterior(kernel, points, targets, counts).best_lengths();
    feature_parts.push_back({1, Matern<Eigen::ArrayXXd>(kernel.scaled_distances(points, lengths)).values});
  }
  for (const double length : kFeatureLengths) {
    if (kernel.has_lengths()) break;
    feature_parts.push_back({length, kernel.feature_part(length, features)});
    if (kernel.features() == 0) break;
  }
  std::vector<KernelPart> budget_parts;
  for (const double length : kBudgetLengths) {
    if (kernel.has_budgets()) budget_parts.push_back({length, kernel.budget_part(length, budgets)});
  }
  if (budget_parts.empty()) budget_parts.push_back({1, {}});
  std::vector<double> weights(kWeights.begin(), kWeights.end());
  if (kernel.parameters() == 0) weights = {1};
  if (kernel.features() == 0) weights = {0};
  std::vector<double> noises(kNoises.begin(), kNoises.end());
  if (kernel.has_lengths()) {
    weights.assign(kSmoothWeights.begin(), kSmoothWeights.end());
    noises.assign(kSmoothNoises.begin(), kSmoothNoises.end());
  }

  Hyper best;
  double most = -std::numeric_limits<double>::infinity();
  Eigen::MatrixXd covariance(count, count);
  const auto try_noises = [&](const Eigen::ArrayXXd& values, Hyper hyper) {
    for (const double noise : noises) {
      covariance = values.matrix();
      covariance.diagonal().array() += noise / counts.array() + kLeastNoise;
      const double likelihood = profile_likelihood(covariance, targets);
      if (likelihood <= most) continue;
      most = likelihood;
      hyper.noise = noise;
      best = hyper;
    }
  };
  for (const KernelPart& parameter_part : parameter_parts) {
    for (const KernelPart& feature_part : feature_parts) {
      for (const double weight : weights) {
        const Eigen::ArrayXXd values = (1 - weight) * parameter_part.values + weight * feature_part.values;
        for (const KernelPart& budget_part : budget_parts) {
          const Hyper hyper{weight, parameter_part.length, feature_part.length,
                            0,      budget_part.length,    lengths};
          try_noises(kernel.has_budgets() ? values * budget_part.values : values, hyper);
        }
      }
    }
  }
  return best;
}

}  // namespace skyline::search
