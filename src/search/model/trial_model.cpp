#include "search/model/trial_model.hpp"

#include "skyline/search/pareto.hpp"

#include "search/model/prior_targets.hpp"
#include "search/pareto/ranking.hpp"
#include "search/surrogate/normal.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <numeric>
#include <span>
#include <unordered_set>
#include <utility>

namespace skyline::search {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// Added at both ends of the range that a constraint allows, in standard deviations of the prediction.
constexpr double kLeastWidth = 5e-4;
constexpr double kLeast = 1e-12;       // keeps quantiles finite
constexpr double kMostFailing = 0.95;  // upper bound of a predicted share of failures

/// Returns the probability of a standard normal number between two bounds, which are widened a little, so
/// that one may be met that allows a single value. Of two bounds above 0 the upper tails are compared.
double probability(double low, double high) {
  if (low > 0) return probability(-high, -low);
  return normal_distribution(high + kLeastWidth) - normal_distribution(low - kLeastWidth);
}

}  // namespace

TrialModel::TrialModel(const objective::ObjectiveSet& objectives, const Embedding& embedding,
                       std::size_t most)
    : objectives_(objectives), embedding_(embedding), most_(most), front_(objectives.objectives().size()) {
  const PointSpace& space = embedding.point_space();
  for (const objective::Objective& objective : objectives.objectives()) {
    if (objective.computed) continue;
    Column& column = columns_.emplace_back(space);
    column.measured_index = objective.measured_index;
    column.objective = &objective;
  }
  for (const objective::Constraint& constraint : objectives.constraints()) {
    if (constraint.computed) continue;
    Column& column = columns_.emplace_back(space);
    column.measured_index = constraint.measured_index;
    column.constraint = &constraint;
  }
  columns_.emplace_back(space);
}

bool TrialModel::has_single_measured_objective() const {
  return objectives_.objectives().size() == 1 && !objectives_.objectives().front().computed;
}

void TrialModel::use_threads(std::size_t threads) {
  threads_ = threads;
  for (Column& column : columns_) {
    column.process.use_threads(threads);
    if (column.prior) column.prior->use_threads(threads);
  }
}

void TrialModel::warm_start(const std::vector<trial::CommittedTrial>& known,
                            const std::vector<CandidatePointer>& candidates) {
  for (Column& column : columns_) {
    if (column.objective == nullptr || known.empty()) continue;
    const PriorTargets all = prior_targets(known, *column.objective);
    std::vector<CandidatePointer> points;
    for (const std::size_t place : all.places) points.push_back(candidates[place]);
    PointSpace space = embedding_.point_space();
    space.budget_scale = 0;  // the regression tells what another budget means
    column.prior.emplace(space);
    column.prior->use_threads(threads_);
    column.prior->add(points_of(points, embedding_.point_space()));
    column.prior->choose_hyper(all.targets);
    column.prior->fit(all.targets);
    column.prior_forecast.emplace(*column.prior, Column::kMostForecast);
  }
}

void TrialModel::fit(const std::vector<CandidatePointer>& under_way) {
  points_.resize(observations_.size());
  points_.insert(points_.end(), under_way.begin(), under_way.end());
  std::vector<Row> rows;
  for (std::size_t i = 0; i < points_.size(); ++i)
    rows.push_back({points_[i]->key, i < observations_.size() ? observations_[i].count : 1});
  // Most trials get their results in the order of their fantasies, so that nearly all rows hold.
  const auto held = std::ranges::mismatch(rows_, rows).in1 - rows_.begin();
  rows_ = std::move(rows);
  for (Column& column : columns_) {
    column.process.truncate(is_used(column) ? held : 0);
    if (!is_used(column)) continue;
    synchronize(column);
    const Eigen::Index choice = GaussianProcess::choice_size(static_cast<Eigen::Index>(known_of(column)));
    if (column.chosen_by != choice) {
      column.process.choose_hyper(targets(column, choice));
      column.chosen_by = choice;
    }
    fit(column);
  }
  find_places(0);
}

/// Adds a trial with its expected result. What is known, and what is expected of the others, stays as it is.
void TrialModel::add_fantasy(const CandidatePointer& candidate) {
  const std::size_t first = points_.size();
  points_.push_back(candidate);
  rows_.push_back({candidate->key});
  for (Column& column : columns_) {
    if (!is_used(column)) continue;
    synchronize(column);
    column.process.extend();
    column.means.conservativeResize(std::ssize(points_));
    column.means[std::ssize(points_) - 1] = column.process.mean_of(std::ssize(points_) - 1);
    explain_by_prior(column, first);
  }
  find_places(first);
}

/// Returns how many of the first results say something of a column.
std::size_t TrialModel::known_of(const Column& column) const {
  if (outside_ == 0 || !column.measured_index) return trained();
  const bool is_asked = !std::isnan((*observations_.back().measured)[*column.measured_index]);
  return is_asked ? observations_.size() : trained();
}

/// Fits the process to what is known.
void TrialModel::fit(Column& column) {
  column.process.fit(targets(column, static_cast<Eigen::Index>(known_of(column))));
  column.means = column.process.means();
  explain_by_prior(column, 0);
}

/// Adds what the known results let expect of the trials from `first` on.
void TrialModel::explain_by_prior(Column& column, std::size_t first) {
  if (!column.prior) return;
  const Eigen::VectorXd prior = prior_means(column, std::span(points_).subspan(first));
  column.means.tail(prior.size()).array() += column.slope * (prior.array() - column.centre);
}

/// Gives the process the points that it does not have yet.
void TrialModel::synchronize(Column& column) {
  const auto first = static_cast<std::size_t>(column.process.size());
  Points added = points_of(std::span(points_).subspan(first), embedding_.point_space());
  added.counts = Eigen::VectorXd::Ones(added.parameters.cols());
  for (std::size_t i = first; i < observations_.size(); ++i)
    added.counts[static_cast<Eigen::Index>(i - first)] = static_cast<double>(observations_[i].count);
  column.process.add(added);
}

/// Returns the standardised values of a column for the first results. Failures are a share whatever the
/// budget is.
RungTargets TrialModel::standardised(const Column& column, Eigen::Index count) const {
  const bool is_minimized =
      column.objective != nullptr && column.objective->sense == objective::Sense::kMinimize;
  std::vector<RungResult> results(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < results.size(); ++i) {
    const auto& measured = observations_[i].measured;
    if (!column.measured_index) {
      results[i].value = measured ? 0 : 1;
      continue;
    }
    results[i].budget = points_[i]->point.budget;
    results[i].id = points_[i]->architecture->id;
    if (!measured) continue;
    const double value = (*measured)[*column.measured_index];
    results[i].value = is_minimized ? -value : value;
  }
  return {results, column.objective != nullptr ? RungTargets::Kind::kObjective : RungTargets::Kind::kNumber};
}

/// Returns what the known results let expect of points.
Eigen::VectorXd TrialModel::prior_means(Column& column, const Points& points,
                                        std::span<const std::uint64_t> keys) {
  return column.prior_forecast->predict(points, keys).mean;
}

/// Returns the prior means at trials.
Eigen::VectorXd TrialModel::prior_means(Column& column, std::span<const CandidatePointer> trials) {
  std::vector<std::uint64_t> keys;
  for (const CandidatePointer& trial : trials) keys.push_back(trial->key);
  return prior_means(column, points_of(trials, embedding_.point_space()), keys);
}

/// Returns the targets of the first results: for an objective with known results, what these do not explain.
Eigen::VectorXd TrialModel::targets(Column& column, Eigen::Index count) {
  column.known = standardised(column, count);
  const Eigen::VectorXd& targets = column.known.targets;
  if (!column.prior) return targets;
  Eigen::VectorXd prior = prior_means(column, std::span(points_).first(static_cast<std::size_t>(count)));
  column.centre = prior.mean();
  prior.array() -= column.centre;
  // A regression, with one result's worth of faith in a slope of 1.
  column.slope = std::max(0.0, (1 + prior.dot(targets)) / (1 + prior.squaredNorm()));
  return targets - column.slope * prior;
}

/// Returns what each column expects of the candidates.
std::vector<Prediction> TrialModel::predictions(const std::vector<CandidatePointer>& candidates) {
  const Points points = points_of(candidates, embedding_.point_space());
  std::vector<std::uint64_t> keys;
  for (const CandidatePointer& candidate : candidates) {
    keys.push_back(candidate->key);
  }
  std::vector<Prediction> predictions;
  for (Column& column : columns_) {
    predictions.push_back(is_used(column) ? column.forecast.predict(points, keys) : Prediction());
    if (!column.prior) continue;
    const Eigen::VectorXd prior = prior_means(column, points, keys);
    predictions.back().mean.array() += column.slope * (prior.array() - column.centre);
  }
  return predictions;
}

Eigen::ArrayXd TrialModel::acquisition(const std::vector<CandidatePointer>& candidates, Acquisition kind) {
  if (candidates.empty()) return {};
  const std::vector<Prediction> predictions = this->predictions(candidates);
  if (kind == Acquisition::kFallback) return nearness(predictions, std::ssize(candidates));
  Eigen::ArrayXd values;
  if (kind == Acquisition::kUpperConfidenceBound) {
    values = (predictions.front().mean + predictions.front().deviation).array();
    values = (values - columns_.front().means.minCoeff()).max(0);  // so that it may be multiplied
  } else {
    values = has_single_measured_objective()
                 ? best_improvement(predictions.front())
                 : volume_improvement(candidates, predictions, kind == Acquisition::kHypervolume);
  }
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    const Column& column = columns_[i];
    if (column.objective != nullptr || !is_used(column)) continue;
    const Eigen::ArrayXd mean = column.known.offset + column.known.scale * predictions[i].mean.array();
    const Eigen::ArrayXd deviation = column.known.scale * predictions[i].deviation.array();
    for (Eigen::Index j = 0; j < values.size(); ++j) {
      if (column.constraint == nullptr) {
        values[j] *= 1 - std::clamp(mean[j], 0.0, kMostFailing);
      } else {
        values[j] *= probability((column.constraint->low - mean[j]) / deviation[j],
                                 (column.constraint->high - mean[j]) / deviation[j]);
      }
    }
  }
  return values;
}

/// Returns how near candidates are to the bounds, in deviations and below 0; of those within all of them how
/// little is known.
Eigen::ArrayXd TrialModel::nearness(const std::vector<Prediction>& predictions, Eigen::Index count) const {
  Eigen::ArrayXd beyond = Eigen::ArrayXd::Zero(count);
  Eigen::ArrayXd unknown = beyond;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    const Column& column = columns_[i];
    if (!column.measured_index) continue;
    if (column.constraint == nullptr) {
      unknown += predictions[i].deviation.array();
      continue;
    }
    const Eigen::ArrayXd mean = column.known.offset + column.known.scale * predictions[i].mean.array();
    const Eigen::ArrayXd most = (column.constraint->low - mean).max(mean - column.constraint->high).max(0);
    beyond += most / (column.known.scale * predictions[i].deviation.array());
  }
  return (beyond > 0).select(-beyond, unknown);
}

/// The best value is the largest that is expected of a trial, since a measured one may owe much to luck.
Eigen::ArrayXd TrialModel::best_improvement(const Prediction& prediction) const {
  double best = -kInfinity;
  for (const std::vector<double>& place : places_) {
    if (!place.empty()) best = std::max(best, -place.front());
  }
  if (best == -kInfinity) best = columns_.front().means.minCoeff();
  Eigen::ArrayXd improvement(prediction.mean.size());
  for (Eigen::Index i = 0; i < improvement.size(); ++i) {
    improvement[i] = expected_improvement(prediction.mean[i], prediction.deviation[i], best);
  }
  return improvement;
}

/// Returns the places of the trials on the front of what is expected of them, in the order of their results.
std::vector<std::size_t> TrialModel::expected_front() const {
  ParetoArchive front(objectives_.objectives().size());
  for (std::size_t i = 0; i < observations_.size(); ++i) {
    if (!places_[i].empty()) front.insert(i, places_[i]);
  }
  return front.keys();
}

std::vector<CandidatePointer> TrialModel::best(std::size_t most) const {
  std::vector<std::size_t> order = expected_front();
  std::ranges::reverse(order);
  if (columns_.front().objective != nullptr) {
    std::vector<std::size_t> others(trained());
    std::iota(others.begin(), others.end(), std::size_t{0});
    std::erase_if(others, [&](std::size_t i) {
      return !observations_[i].measured || std::ranges::find(order, i) != order.end();
    });
    std::ranges::stable_sort(others, std::greater<>(), [&](std::size_t i) {
      return columns_.front().means[static_cast<Eigen::Index>(i)];
    });
    order.insert(order.end(), others.begin(), others.end());
  }
  std::vector<CandidatePointer> best;
  std::unordered_set<space::ArchId> ids;  // some have been trained with several budgets
  for (const std::size_t i : order) {
    if (best.size() < most && ids.insert(points_[i]->architecture->id).second) best.push_back(points_[i]);
  }
  return best;
}

std::vector<CandidatePointer> TrialModel::first_fronts(std::size_t most) const {
  std::vector<std::vector<double>> known;
  std::vector<std::size_t> order;
  for (std::size_t i = observations_.size(); i-- > 0;) {
    if (places_[i].empty()) continue;
    order.push_back(i);
    known.push_back(places_[i]);
  }
  const std::vector<std::size_t> ranks = front_ranks(known);
  std::vector<std::size_t> sorted(order.size());
  std::iota(sorted.begin(), sorted.end(), std::size_t{0});
  std::ranges::stable_sort(sorted, {}, [&](std::size_t i) { return ranks[i]; });
  sorted.resize(std::min(most, sorted.size()));
  std::vector<CandidatePointer> first;
  for (const std::size_t i : sorted) first.push_back(points_[order[i]]);
  return first;
}

std::vector<std::vector<double>> TrialModel::sampled(const std::vector<CandidatePointer>& candidates,
                                                     RandomStream& random) {
  const std::vector<Prediction> predictions = this->predictions(candidates);
  std::vector<std::vector<double>> sampled(candidates.size());
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const auto place = static_cast<Eigen::Index>(i);
    std::size_t next = 0;
    const auto drawn = [&] {
      const Prediction& prediction = predictions[next++];
      return prediction.mean[place] +
             prediction.deviation[place] * normal_quantile((random.uniform() + kLeast) / (1 + 2 * kLeast));
    };
    for (const objective::Objective& objective : objectives_.objectives()) {
      sampled[i].push_back(objective.computed ? place_of(objective, *candidates[i]->architecture) : -drawn());
    }
    bool is_allowed = true;
    for (const Column& column : columns_) {
      if (column.constraint == nullptr) continue;
      const double value = column.known.offset + column.known.scale * drawn();
      is_allowed = is_allowed && column.constraint->low <= value && value <= column.constraint->high;
    }
    if (!is_allowed) std::ranges::fill(sampled[i], kInfinity);
  }
  return sampled;
}

/// A target stands for a value by what lies between the known ones; beyond them it stands for the last one.
std::optional<trial::Expected> TrialModel::expected(const CandidatePointer& candidate) {
  const Column& column = columns_.front();
  if (column.objective == nullptr) return std::nullopt;
  const Prediction prediction = predictions({candidate}).front();
  std::map<double, double> value_of;  // with the same budget
  for (std::size_t i = 0; i < known_of(column); ++i) {
    const auto place = static_cast<Eigen::Index>(i);
    if (points_[i]->point.budget == candidate->point.budget)
      value_of.emplace(column.known.targets[place], column.known.values[place]);
  }
  if (value_of.empty()) return std::nullopt;
  const double sign = column.objective->sense == objective::Sense::kMinimize ? -1 : 1;
  const auto value_at = [&](double target) {
    const auto above = value_of.lower_bound(target);
    if (above == value_of.begin()) return sign * above->second;
    const auto below = std::prev(above);
    if (above == value_of.end()) return sign * below->second;
    const double share = (target - below->first) / (above->first - below->first);
    return sign * (below->second + share * (above->second - below->second));
  };
  const double low = value_at(prediction.mean[0] - prediction.deviation[0]);
  const double high = value_at(prediction.mean[0] + prediction.deviation[0]);
  return trial::Expected{std::min(low, high), value_at(prediction.mean[0]), std::max(low, high)};
}

std::optional<trial::TrialNumber> TrialModel::nearest_on_front(const Candidate& candidate) const {
  std::optional<trial::TrialNumber> nearest;
  double least = kInfinity;
  for (const std::size_t i : front_.keys()) {
    const double distance = embedding_.distance(points_[i]->point, candidate.point);
    if (distance >= least) continue;
    least = distance;
    nearest = observations_[i].number;
  }
  return nearest;
}

}  // namespace skyline::search
