#include "search/model/trial_model.hpp"

#include <algorithm>
#include <map>
#include <vector>

namespace skyline::search {
namespace {

constexpr double kBeyondBox = 0.1;  // else an architecture of the highest cost would never be worth a trial
constexpr std::size_t kMostKnots = 32;  // knots of a scale; each costs a candidate like a member of the front

}  // namespace

/// Returns where an architecture lies between the ends of a computed objective, 0 being the best; without
/// ends, its value, minimized.
double TrialModel::place_of(const objective::Objective& objective, const space::Architecture& architecture) {
  const double value = objective::computed_metric(architecture, objective.metric);
  if (objective.ideal && objective.reference) return objective::normalized(objective, value);
  return objective.sense == objective::Sense::kMaximize ? -value : value;
}

/// Finds the places of the trials from `first` on.
void TrialModel::find_places(std::size_t first) {
  places_.resize(first);
  places_.resize(points_.size());
  const bool is_sure = std::ranges::all_of(objectives_.constraints(), &objective::Constraint::computed);
  for (std::size_t i = first; i < points_.size(); ++i) {
    if (points_[i]->point.budget < 0 ||
        (i < observations_.size() ? !observations_[i].minimized.has_value() : !is_sure))
      continue;
    auto column = columns_.begin();
    for (const objective::Objective& objective : objectives_.objectives()) {
      places_[i].push_back(objective.computed ? place_of(objective, *points_[i]->architecture)
                                              : -(column++)->means[static_cast<Eigen::Index>(i)]);
    }
  }
}

/// Returns what the targets of an objective stand for, as whole trials tell: the places of its values between
/// its ends, of which those beyond the reference are all alike. None without ends, or if nothing is better
/// than the reference yet: any improvement is welcome then.
PiecewiseLinear TrialModel::scale_of(const Column& column) const {
  const objective::Objective& objective = *column.objective;
  if (!objective.ideal || !objective.reference) return {};
  const std::size_t count = known_of(column);
  std::map<double, double> knots;
  for (std::size_t i = 0; i < count; ++i) {
    if (!observations_[i].measured || !is_whole(i)) continue;
    const double value = (*observations_[i].measured)[objective.measured_index];
    knots[-column.known.targets[static_cast<Eigen::Index>(i)]] =
        std::min(objective::normalized(objective, value), 1.0);
  }
  if (knots.empty() || knots.begin()->second == knots.rbegin()->second) return {};
  PiecewiseLinear scale;
  const std::size_t most = std::min(kMostKnots, knots.size());  // two or more
  std::size_t number = 0;
  for (const auto& [target, value] : knots) {
    if (number++ != scale.places.size() * (knots.size() - 1) / (most - 1)) continue;
    scale.places.push_back(target);
    scale.values.push_back(value);
  }
  return scale;
}

Eigen::ArrayXd TrialModel::volume_improvement(const std::vector<CandidatePointer>& candidates,
                                              const std::vector<Prediction>& predictions,
                                              bool is_of_values) const {
  const std::vector<objective::Objective>& objectives = objectives_.objectives();
  Eigen::MatrixXd front(std::ssize(objectives), std::ssize(places_));
  Eigen::Index known = 0;
  for (const std::vector<double>& place : places_) {
    if (!place.empty()) front.col(known++) = Eigen::Map<const Eigen::VectorXd>(place.data(), front.rows());
  }
  front.conservativeResize(Eigen::NoChange, known);
  Eigen::MatrixXd means(front.rows(), std::ssize(candidates));
  Eigen::MatrixXd deviations = Eigen::MatrixXd::Zero(front.rows(), means.cols());
  Eigen::VectorXd reference(front.rows());
  std::vector<PiecewiseLinear> scales(objectives.size());
  std::size_t column = 0;
  for (Eigen::Index row = 0; row < front.rows(); ++row) {
    const objective::Objective& objective = objectives[static_cast<std::size_t>(row)];
    if (!objective.computed) {
      means.row(row) = -predictions[column].mean;
      deviations.row(row) = predictions[column].deviation;
      if (is_of_values) scales[static_cast<std::size_t>(row)] = scale_of(columns_[column]);
      reference[row] = -columns_[column++].means.minCoeff();
      continue;
    }
    for (Eigen::Index i = 0; i < means.cols(); ++i) {
      means(row, i) = place_of(objective, *candidates[static_cast<std::size_t>(i)]->architecture);
    }
    double least = 0;  // lower end of the box
    double most = 1;
    if (!objective.ideal || !objective.reference) {
      least = means.row(row).minCoeff();
      most = means.row(row).maxCoeff();
      if (front.cols() > 0) {
        least = std::min(least, front.row(row).minCoeff());
        most = std::max(most, front.row(row).maxCoeff());
      }
    }
    reference[row] = most + kBeyondBox * (most - least);
  }
  return HypervolumeImprovement(front, reference, scales)(means, deviations, threads_).array();
}

}  // namespace skyline::search
