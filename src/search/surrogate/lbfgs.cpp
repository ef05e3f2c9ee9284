#include "search/surrogate/lbfgs.hpp"

#include <algorithm>
#include <cstddef>
#include <deque>
#include <optional>
#include <ranges>
#include <utility>
#include <vector>

namespace skyline::search {

namespace {

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
