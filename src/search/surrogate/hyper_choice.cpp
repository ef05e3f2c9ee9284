#include "search/surrogate/hyper_choice.hpp"

#include "skyline/core/error.hpp"

#include "core/system/parts.hpp"
#include "search/surrogate/length_choice.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include <Eigen/Cholesky>

namespace skyline::search {

namespace {

constexpr std::array kWeights = {0.9, 0.7, 0.5};
constexpr std::array kParameterLengths = {0.2, 0.4, 0.8};
constexpr std::array kFeatureLengths = {0.5, 1.0, 2.0};
constexpr std::array kNoises = {0.003, 0.03, 0.2};
constexpr double kFarNoise = 1;  // tried where the likelihood rises up to the largest of these
constexpr std::array kBudgetLengths = {0.7, 3.0, 20.0};  // 0.24, 0.72 and 0.95 from one end to the other
// A space with lengths has shares and noises of its own: late trials are all near the best, so that noise may
// be all there is.
constexpr std::array kLengthWeights = {0.0, 0.3, 0.6, 0.9};
constexpr std::array kLengthNoises = {0.0003, 0.003, 0.03, 0.2, 1.0};

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

/// The parts of which all combinations are tried.
struct Grid {
  std::vector<KernelPart> parameters;
  std::vector<KernelPart> smooth;
  std::vector<KernelPart> budgets;  // one that stands for 1 in a space of one budget
  std::vector<double> weights;
  std::vector<double> noises;
  std::optional<double> far_noise;
  std::vector<double> lengths;  // one per parameter; none without lengths of their own
};

/// Makes the parts that compare the same parameters, features and budgets in every space.
Grid grid_of_distances(const Kernel& kernel, const Eigen::MatrixXd& points) {
  const Eigen::Index count = points.cols();
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
  Grid grid;
  for (const double length : kParameterLengths) {
    grid.parameters.push_back({length, kernel.parameter_part(length, parameters)});
    if (kernel.parameters() == 0) break;
  }
  for (const double length : kFeatureLengths) {
    grid.smooth.push_back({length, kernel.feature_part(length, features)});
    if (kernel.features() == 0) break;
  }
  for (const double length : kBudgetLengths) {
    if (kernel.has_budgets()) grid.budgets.push_back({length, kernel.budget_part(length, budgets)});
  }
  if (grid.budgets.empty()) grid.budgets.push_back({1, {}});
  grid.weights.assign(kWeights.begin(), kWeights.end());
  if (kernel.parameters() == 0) grid.weights = {1};
  if (kernel.features() == 0) grid.weights = {0};
  grid.noises.assign(kNoises.begin(), kNoises.end());
  grid.far_noise = kFarNoise;
  return grid;
}

/// Makes the smooth part of a space with lengths.
void add_lengths(const Kernel& kernel, const Eigen::MatrixXd& points, const Eigen::VectorXd& targets,
                 const Eigen::VectorXd& counts, std::size_t threads, Grid& grid) {
  grid.lengths = LengthPosterior(kernel, points, targets, counts).best_lengths(threads);
  const Matern<Eigen::ArrayXXd> part(kernel.scaled_distances(points, grid.lengths));
  grid.smooth = {{1, part.values}};
  grid.weights.assign(kLengthWeights.begin(), kLengthWeights.end());
  grid.noises.assign(kLengthNoises.begin(), kLengthNoises.end());
  grid.far_noise.reset();
}

/// A combination of parts, with the noise under which it is the most likely.
struct Combination {
  Hyper hyper;
  const KernelPart* parameters;
  const KernelPart* smooth;
  const KernelPart* budgets;  // nullptr in a space of one budget
  double likelihood = -std::numeric_limits<double>::infinity();
};

void try_noises(const Grid& grid, const Eigen::VectorXd& targets, const Eigen::VectorXd& counts,
                Combination& one) {
  const double weight = one.hyper.weight;
  Eigen::ArrayXXd values = (1 - weight) * one.parameters->values + weight * one.smooth->values;
  if (one.budgets != nullptr) values *= one.budgets->values;
  Eigen::MatrixXd covariance(targets.size(), targets.size());
  double likelihood = -std::numeric_limits<double>::infinity();
  bool rises = false;
  const auto try_noise = [&](double noise) {
    covariance = values.matrix();
    covariance.diagonal().array() += noise / counts.array() + kLeastNoise;
    const double before = std::exchange(likelihood, profile_likelihood(covariance, targets));
    rises = likelihood > before;
    if (likelihood <= one.likelihood) return;
    one.likelihood = likelihood;
    one.hyper.noise = noise;
  };
  std::ranges::for_each(grid.noises, try_noise);
  if (rises && grid.far_noise) try_noise(*grid.far_noise);
}

}  // namespace

Hyper best_hyper(const Kernel& kernel, const Eigen::MatrixXd& points, const Eigen::VectorXd& targets,
                 const Eigen::VectorXd& counts, std::size_t threads) {
  const Eigen::Index count = points.cols();
  require(count > 0 && count == targets.size(), "hyper-parameters are chosen by one target for each point");
  Grid grid = grid_of_distances(kernel, points);
  if (kernel.has_lengths()) add_lengths(kernel, points, targets, counts, threads, grid);
  std::vector<Combination> combinations;
  for (const KernelPart& parameters : grid.parameters) {
    for (const KernelPart& smooth : grid.smooth) {
      for (const double weight : grid.weights) {
        for (const KernelPart& budgets : grid.budgets) {
          combinations.push_back({{weight, parameters.length, smooth.length, 0, budgets.length, grid.lengths},
                                  &parameters,
                                  &smooth,
                                  kernel.has_budgets() ? &budgets : nullptr});
        }
      }
    }
  }
  in_parts(combinations.size(), 1, threads,
           [&](std::size_t place, std::size_t) { try_noises(grid, targets, counts, combinations[place]); });
  // The first of equal ones.
  return std::ranges::max_element(combinations, {}, &Combination::likelihood)->hyper;
}

}  // namespace skyline::search
